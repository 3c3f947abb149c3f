//! What the pages of small plants look like, and whether their controls work.

use rtether::compare::{self, Candidate, compare};
use rtether::run::Progress;
use rtether::scenario::load;
use serde_json::json;

use crate::screenshot::browser::{Screen, Tab, find, keep};
use crate::screenshot::{page, plants};

/// A decoded picture: width and RGB of each pixel.
struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

fn read(png: &[u8]) -> Picture {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
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
        let (sum, count) =
            edge.fold((0u64, 0u64), |(sum, count), pixel| (sum + u64::from(pixel[1]), count + 1));
        u8::try_from(sum / count).unwrap()
    }
}

#[test]
fn pages_look_like_something_in_both_schemes() {
    let test = "pages_look_like_something_in_both_schemes";
    let Some(browser) = find() else { return };
    let mut tab = Tab::open(&browser, test);
    let plants = [
        ("line", plants::line()),
        ("star", plants::star()),
        ("switches", plants::chain(5, false)),
        ("ring", plants::chain(6, true)),
        ("substation", plants::substation(10)),
        ("workshop", plants::workshop()),
        ("hostile", plants::hostile()),
    ];
    for (name, plant) in plants {
        let page = page(&plant);
        keep(&format!("{name}.html"), page.as_bytes());
        for (width, height) in [(1280, 2600), (390, 3000)] {
            for (dark, scheme) in [(false, "light"), (true, "dark")] {
                let screen = Screen { width, height, dark };
                tab.show(&page, screen);
                let picture = read(&tab.picture(&format!("{name}-{width}-{scheme}")));
                assert_eq!(picture.width, width, "{name}");
                assert_eq!(picture.pixels.len(), width * height, "{name}");
                assert!(picture.distinct_colors() > 50, "{name}: looks blank");
                let background = picture.background();
                let fits = if dark { background < 60 } else { background > 200 };
                assert!(fits, "{name} {scheme}: {background}");
            }
        }
    }
}

#[test]
fn nothing_sticks_out_and_controls_work() {
    let test = "nothing_sticks_out_and_controls_work";
    let Some(browser) = find() else { return };
    let mut tab = Tab::open(&browser, test);
    for plant in [plants::line(), plants::substation(10), plants::workshop(), plants::hostile()] {
        let name = &plant.scenario.name;
        let page = page(&plant);
        for screen in [Screen::DESKTOP, Screen::PHONE] {
            tab.show(&page, screen);
            let width = tab.number("document.documentElement.scrollWidth");
            assert!(width <= screen.width, "{name}: {width} > {}", screen.width);
        }
        assert!(tab.number("document.querySelectorAll('.tools:not([hidden])').length") > 0);
        tab.eval("document.querySelector('#verdict th.n button').click()");
        let sorted = tab.text("document.querySelector('#verdict th.n').ariaSort");
        assert_eq!(sorted, "ascending", "{name}");
        let background = "getComputedStyle(document.querySelector('.page')).backgroundColor";
        let before = tab.text(background);
        tab.eval("document.getElementById('theme').click()");
        assert_ne!(tab.text(background), before, "{name}");
        let marked = "document.querySelectorAll('.topology .on').length";
        assert!(tab.number(marked) > 2, "{name}");
        tab.eval("path.value = ''; path.dispatchEvent(new Event('change'))");
        assert_eq!(tab.number(marked), 0, "{name}");
    }
}

/// The page of `rtether compare`, wide and narrow.
#[test]
fn compared_schemes_fit_the_screen() {
    let test = "compared_schemes_fit_the_screen";
    let Some(browser) = find() else { return };
    let text = include_str!("../../../../scenarios/drives.yaml").replace("for: 2 s", "for: 40 ms");
    let scenario = load("drives.yaml", &text).into_scenario().unwrap();
    let found = compare(&scenario, &Candidate::all(), &Progress::default()).unwrap();
    let page = compare::html(&found);
    keep("compare.html", page.as_bytes());
    let mut tab = Tab::open(&browser, test);
    for (screen, word) in [(Screen::DESKTOP, "desktop"), (Screen::PHONE, "phone")] {
        for dark in [false, true] {
            let screen = Screen { dark, ..screen };
            tab.show(&page, screen);
            let width = tab.number("document.documentElement.scrollWidth");
            assert!(width <= screen.width, "{word}: {width} > {}", screen.width);
            let height = tab.number("document.documentElement.scrollHeight");
            let whole = Screen { height, ..screen };
            tab.show(&page, whole);
            let scheme = if dark { "dark" } else { "light" };
            let picture = read(&tab.picture(&format!("compare-{word}-{scheme}")));
            assert!(picture.distinct_colors() > 50, "{word}: looks blank");
        }
    }
    let bars = tab.number("document.querySelectorAll('#delays .bar-row').length");
    assert_eq!(bars, Candidate::all().len());
    let curves = tab.number("document.querySelectorAll('#delays svg .line').length");
    assert!(curves >= Candidate::all().len(), "{curves}");
}

/// Oracle: the setting of the system, which the page has to follow.
#[test]
fn nothing_glides_for_those_who_ask_for_less_motion() {
    let test = "nothing_glides_for_those_who_ask_for_less_motion";
    let Some(browser) = find() else { return };
    let mut tab = Tab::open(&browser, test);
    tab.show(&page(&plants::line()), Screen::DESKTOP);
    for (motion, behavior) in [("no-preference", "smooth"), ("reduce", "auto")] {
        let feature = json!({ "name": "prefers-reduced-motion", "value": motion });
        tab.call("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
        let found = tab.text("getComputedStyle(document.documentElement).scrollBehavior");
        assert_eq!(found, behavior, "{motion}");
    }
}

#[test]
fn without_scripts_everything_is_there() {
    let test = "without_scripts_everything_is_there";
    let Some(browser) = find() else { return };
    let mut tab = Tab::open(&browser, test);
    let source = page(&plants::line());
    let policy =
        "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\"/><title>";
    tab.show(&source.replacen("<title>", policy, 1), Screen::DESKTOP);
    let text = tab.text("document.body.textContent");
    for part in ["setpoint", "emergency stop", "✗ late", "exceeds its deadline"] {
        assert!(text.contains(part), "{part} is missing");
    }
    let tools = tab.number("document.querySelectorAll('.tools:not([hidden])').length");
    assert_eq!(tools, 0, "the script ran");
    assert!(read(&tab.picture("plain")).distinct_colors() > 50);
}
