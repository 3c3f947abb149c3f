//! The page in a real browser: both color schemes, wide and narrow, with and without scripts.
//!
//! Needs `chromium`; without it the test reports so and passes. Set `RTETHER_SCREENSHOTS` to a
//! directory to keep pages and pictures.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic and says when it is skipped"
)]

mod plants;

use std::fs::{self, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rtether::report::{Checked, html};
use rtether::verdict::assess;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Time limit for the browser.
const PATIENCE: Duration = Duration::from_secs(90);

fn page(plant: &plants::Builder) -> String {
    let results = plant.results();
    let assessments = assess(&plant.scenario, &results);
    let checked = Checked::new(plant.scenario.clone(), results.clone(), assessments.clone());
    html::render(&checked.with_source("name: made up\n"))
}

/// Returns a browser, or `None` after reporting that there is none.
fn browser(test: &str) -> Option<String> {
    let answers = |name: &String| {
        let version = Command::new(name)
            .arg("--version")
            .stderr(Stdio::null())
            .output();
        version.is_ok_and(|output| output.status.success())
    };
    let named = std::env::var("RTETHER_CHROMIUM").ok();
    let names = named.into_iter().chain(BROWSERS.map(String::from));
    let found = names.into_iter().find(answers);
    if found.is_none() {
        let reason = format!("SKIP: {test}: no browser ({})", BROWSERS.join(", "));
        println!("{reason}");
        if let Some(log) = std::env::var_os("RTETHER_SKIP_LOG") {
            let log = OpenOptions::new().create(true).append(true).open(log);
            writeln!(log.unwrap(), "{reason}").unwrap();
        }
    }
    found
}

/// A test's directory, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rtether-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the browser on a page and returns its output.
fn browse(browser: &str, scratch: &Scratch, page: &Path, flags: &[String]) -> String {
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--hide-scrollbars",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        "--disable-sync",
        "--metrics-recording-only",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--force-device-scale-factor=1",
    ];
    let profile = format!("--user-data-dir={}", scratch.file("profile").display());
    let output = scratch.file("output");
    let mut child = Command::new(browser)
        .args(fixed)
        .arg(profile)
        .args(flags)
        .arg(format!("file://{}", page.display()))
        .stdout(fs::File::create(&output).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser did not finish within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    fs::read_to_string(output).unwrap()
}

/// A decoded picture: width and RGB of each pixel.
struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

fn read(path: &Path) -> Picture {
    let file = BufReader::new(fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(info.bit_depth, png::BitDepth::Eight);
    let pixels = bytes[..info.buffer_size()].chunks_exact(info.color_type.samples());
    Picture {
        width: usize::try_from(info.width).unwrap(),
        pixels: pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
    }
}

impl Picture {
    fn distinct_colors(&self) -> usize {
        let mut colors = self.pixels.clone();
        colors.sort_unstable();
        colors.dedup();
        colors.len()
    }

    /// Returns the mean brightness of the left edge, which is all background.
    fn background(&self) -> u8 {
        let edge = self.pixels.iter().step_by(self.width);
        let (sum, count) = edge.fold((0u64, 0u64), |(sum, count), pixel| {
            (sum + u64::from(pixel[1]), count + 1)
        });
        u8::try_from(sum / count).unwrap()
    }
}

/// Takes a picture, and keeps a copy if asked to.
fn shoot(browser: &str, scratch: &Scratch, page: &Path, name: &str, look: Look) -> Picture {
    let path = scratch.file(&format!("{name}.png"));
    let mut flags = vec![
        format!("--screenshot={}", path.display()),
        format!("--window-size={},{}", look.width, look.height),
    ];
    if look.dark {
        flags.push("--blink-settings=preferredColorScheme=0".into());
    } else {
        flags.push("--blink-settings=preferredColorScheme=1".into());
    }
    browse(browser, scratch, page, &flags);
    if let Some(directory) = std::env::var_os("RTETHER_SCREENSHOTS") {
        fs::create_dir_all(&directory).unwrap();
        fs::copy(&path, Path::new(&directory).join(format!("{name}.png"))).unwrap();
    }
    let picture = read(&path);
    assert_eq!(picture.width, look.width, "{name}");
    assert_eq!(picture.pixels.len(), look.width * look.height, "{name}");
    picture
}

/// Settings of a picture.
#[derive(Clone, Copy)]
struct Look {
    width: usize,
    height: usize,
    dark: bool,
}

#[test]
fn pages_look_like_something_in_both_schemes() {
    let Some(browser) = &browser("pages_look_like_something_in_both_schemes") else {
        return;
    };
    let scratch = Scratch::new("pictures");
    let plants = [
        ("line", plants::line()),
        ("star", plants::star()),
        ("switches", plants::chain(5, false)),
        ("ring", plants::chain(6, true)),
        ("substation", plants::substation()),
        ("workshop", plants::workshop()),
        ("hostile", plants::hostile()),
    ];
    for (name, plant) in plants {
        let file = scratch.file(&format!("{name}.html"));
        fs::write(&file, page(&plant)).unwrap();
        if let Some(directory) = std::env::var_os("RTETHER_SCREENSHOTS") {
            fs::create_dir_all(&directory).unwrap();
            fs::copy(&file, Path::new(&directory).join(format!("{name}.html"))).unwrap();
        }
        for (width, height) in [(1280, 2600), (500, 3000)] {
            let [light, dark] = [false, true].map(|dark| {
                let scheme = if dark { "dark" } else { "light" };
                let name = format!("{name}-{width}-{scheme}");
                shoot(
                    browser,
                    &scratch,
                    &file,
                    &name,
                    Look {
                        width,
                        height,
                        dark,
                    },
                )
            });
            for picture in [&light, &dark] {
                assert!(picture.distinct_colors() > 50, "{name}: looks blank");
            }
            assert!(light.background() > 200, "{name}: {}", light.background());
            assert!(dark.background() < 60, "{name}: {}", dark.background());
        }
    }
}

/// Makes the page report its width and what it shows; the answer replaces the page body.
const PROBE: &str = "<script>
window.addEventListener('load', function () {
  var root = document.documentElement;
  var rows = document.querySelectorAll('#verdict tbody tr').length;
  var tools = document.querySelectorAll('.tools:not([hidden])').length;
  var first = document.querySelector('#verdict th.n');
  first.click();
  var sorted = document.querySelectorAll('#verdict th[aria-sort]').length;
  var page = document.querySelector('.page');
  var before = getComputedStyle(page).backgroundColor;
  document.getElementById('theme').click();
  var turned = Number(getComputedStyle(page).backgroundColor !== before);
  var path = document.getElementById('path');
  var marked = document.querySelectorAll('.topology .on').length;
  path.value = '';
  path.dispatchEvent(new Event('change'));
  var left = document.querySelectorAll('.topology .on').length;
  var works = [sorted, turned, Number(marked > 2), Number(left === 0)].join('');
  document.title = [root.scrollWidth, root.clientWidth, rows, tools, works].join(' ');
});
</script></body>";

#[test]
fn nothing_sticks_out_and_controls_work() {
    let Some(browser) = &browser("nothing_sticks_out_and_controls_work") else {
        return;
    };
    let scratch = Scratch::new("probe");
    for plant in [
        plants::line(),
        plants::substation(),
        plants::workshop(),
        plants::hostile(),
    ] {
        let file = scratch.file("page.html");
        fs::write(&file, page(&plant).replace("</body>", PROBE)).unwrap();
        for width in [1280, 500] {
            let flags = ["--dump-dom".into(), format!("--window-size={width},900")];
            let document = browse(browser, &scratch, &file, &flags);
            let (_, rest) = document.split_once("<title>").unwrap();
            let (title, _) = rest.split_once("</title>").unwrap();
            let numbers: Vec<usize> = title.split(' ').map(|n| n.parse().unwrap()).collect();
            let name = &plant.scenario.name;
            let [content, window, rows, tools, works] = numbers[..] else {
                panic!("{name}: {title}");
            };
            assert!(content <= window, "{name} at {width}: {content} > {window}");
            assert!(
                rows >= plant.results().record.streams.len(),
                "{name}: {rows} rows"
            );
            // Digits: sorted, color scheme turned, path marked, path unmarked.
            assert!(tools > 0 && works == 1111, "{name}: {tools} {works}");
        }
    }
}

#[test]
fn without_scripts_everything_is_there() {
    let Some(browser) = &browser("without_scripts_everything_is_there") else {
        return;
    };
    let scratch = Scratch::new("plain");
    let file = scratch.file("page.html");
    let source = page(&plants::line());
    let policy =
        "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\"/><title>";
    fs::write(&file, source.replacen("<title>", policy, 1)).unwrap();
    let document = browse(browser, &scratch, &file, &["--dump-dom".into()]);
    for text in [
        "setpoint",
        "emergency stop",
        "✗ late",
        "exceeds its deadline",
    ] {
        assert!(document.contains(text), "{text}");
    }
    assert!(
        document.contains("class=\"tools\" hidden="),
        "the script ran"
    );
    let flags = Look {
        width: 1280,
        height: 1400,
        dark: false,
    };
    let picture = shoot(browser, &scratch, &file, "plain", flags);
    assert!(picture.distinct_colors() > 50);
}
