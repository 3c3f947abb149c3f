# Draws lines of `series,x,y` on logarithmic axes as SVG, with the exponent of each series: the slope of
# the straight line by least squares through the logarithms of its points.
#
# usage: awk -f benches/plot.awk -v title=T -v across=X -v up=Y [-v fits=FILE] FILE.csv > FILE.svg
#
# `fits` gets a line `title,series,exponent,points` for each series. Lines that begin with # and those
# without a number in x and y are left out.

function log10(x) { return log(x) / log(10) }
function px(x) { return left + width * (log10(x) - x0) / (x1 - x0) }
function py(y) { return top + height * (1 - (log10(y) - y0) / (y1 - y0)) }
function floor(x) { return x == int(x) || x > 0 ? int(x) : int(x) - 1 }
function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
function number(x,    s) {
    if (x >= 1000000) return sprintf("%g million", x / 1000000)
    s = sprintf("%g", x)
    if (x >= 10000) s = substr(s, 1, length(s) - 3) " " substr(s, length(s) - 2)
    return s
}
function text(x, y, anchor, said, more) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, more, escaped(said)
}

BEGIN {
    FS = ","
    split("#1f6feb #c2410c #15803d #7c3aed #b45309 #0e7490 #be123c #4b5563", colors, " ")
    left = 78; top = 34; width = 420; height = 260; side = 190
}
!/^#/ && $2 + 0 > 0 && $3 + 0 > 0 {
    if (!($1 in n)) names[++count] = $1
    i = ++n[$1]
    xs[$1, i] = $2; ys[$1, i] = $3
    u = log10($2); v = log10($3)
    su[$1] += u; sv[$1] += v; suu[$1] += u * u; suv[$1] += u * v
    if (!some || u < x0) x0 = u
    if (!some || u > x1) x1 = u
    if (!some || v < y0) y0 = v
    if (!some || v > y1) y1 = v
    some = 1
}
END {
    if (!some) { print "no points" > "/dev/stderr"; exit 1 }
    y0 = floor(y0); y1 = -floor(-y1)
    if (y1 <= y0) y1 = y0 + 1
    if (x1 <= x0) x1 = x0 + 1
    gap = (x1 - x0) * 0.03; x0 -= gap; x1 += gap
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n",
        left + width + side, top + height + 56
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    text(left, 20, "start", title, " font-weight=\"bold\"")
    for (d = y0; d <= y1; d++) {
        printf "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/>\n", left, py(10 ^ d), width
        text(left - 6, py(10 ^ d) + 4, "end", number(10 ^ d), "")
    }
    for (d = floor(x0); d <= x1; d++)
        for (m = 1; m < 10; m++) {
            x = m * 10 ^ d
            if (log10(x) < x0 || log10(x) > x1) continue
            printf "<path d=\"M%.1f %dv%d\" stroke=\"#%s\"/>\n", px(x), top, height, m == 1 ? "ddd" : "f3f3f3"
            if (m == 1 || (x1 - x0 < 1.7 && (m == 2 || m == 5)))
                text(px(x), top + height + 18, "middle", number(x), "")
        }
    text(left + width / 2, top + height + 40, "middle", across, "")
    text(0, 0, "middle", up, sprintf(" transform=\"translate(14 %d) rotate(-90)\"", top + height / 2))
    for (k = 1; k <= count; k++) {
        name = names[k]; color = colors[(k - 1) % 8 + 1]
        way = ""
        for (i = 1; i <= n[name]; i++)
            way = way sprintf("%s%.1f %.1f", i == 1 ? "M" : "L", px(xs[name, i]), py(ys[name, i]))
        printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", way, color
        for (i = 1; i <= n[name]; i++)
            printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", px(xs[name, i]), py(ys[name, i]), color
        bottom = n[name] * suu[name] - su[name] ^ 2
        slope = bottom > 0 ? (n[name] * suv[name] - su[name] * sv[name]) / bottom : 0
        said = n[name] > 2 ? sprintf("%s: exponent %.2f", name, slope) : name
        text(left + width + 12, top + 14 + 20 * (k - 1), "start", said, " fill=\"" color "\"")
        if (fits != "" && n[name] > 2)
            printf "%s,%s,%.2f,%d\n", title, name, slope, n[name] >> fits
    }
    print "</svg>"
}
