//! The page in a browser.

use std::path::Path;
use std::time::{Duration, Instant};

use rtether_testkit::skip;
use serde_json::{Value, json};

use super::browser::{self, Screen, Tab};
use super::{CROWD, command, root, scenarios};

/// Time limit for an answer of the page, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(2);

/// Opens the page; `None` after reporting what is missing.
fn open(test: &str, screen: Screen) -> Option<Tab> {
    let Some(page) = std::env::var_os("RTETHER_PLAYGROUND") else {
        skip("needs the page that `cargo xtask playground` builds, in RTETHER_PLAYGROUND");
        return None;
    };
    let browser = browser::find()?;
    let page = std::fs::read_to_string(root().join(Path::new(&page))).unwrap();
    let mut tab = Tab::open(&browser, test);
    tab.show(&page, screen);
    wait(&mut tab, "document.body.dataset.state === 'verdict'");
    Some(tab)
}

/// Waits until something is true in the page.
pub(crate) fn wait(tab: &mut Tab, condition: &str) {
    let begin = Instant::now();
    while tab.eval(condition) != true {
        let shown = "document.getElementById('banner').textContent";
        assert!(begin.elapsed() < PATIENCE, "{condition}: {}", tab.eval(shown));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asks the worker of the page, again if a question of its own comes between, and returns the member `json` of its answer, and the milliseconds
/// that it took.
fn ask(tab: &mut Tab, question: &Value) -> (String, u64) {
    let script = format!(
        "(async () => {{ let begin, answer = null; while (answer === null) {{ \
         begin = performance.now(); answer = await ask({question}); }} \
         return [answer.json ?? answer.error, Math.round(performance.now() - begin)]; }})()"
    );
    let answer = tab.eval(&script);
    let text = answer[0].as_str().unwrap().to_owned();
    (text, answer[1].as_u64().unwrap())
}

#[test]
#[ignore = "long"]
fn results_are_those_of_the_command_to_the_byte() {
    let Some(mut tab) = open("playground-bytes", Screen::DESKTOP) else {
        return;
    };
    // The star twice, since a browser compiles better what has run once.
    let star = "benches/scenarios/star.yaml".to_owned();
    let text = std::fs::read_to_string(root().join(&star)).unwrap();
    let stars = [(star.clone(), text.clone()), (star, text)];
    for (name, text) in scenarios().into_iter().chain(stars) {
        let question = json!({ "do": "check", "name": name, "text": text });
        let (found, took) = ask(&mut tab, &question);
        let begin = Instant::now();
        let expected = command(&["check", &name, "--json", "--no-progress"]);
        println!("{name}: {took} ms, command {} ms", begin.elapsed().as_millis());
        assert!(found == expected, "{name}: {found}\n{expected}");
    }
}

#[test]
#[ignore = "long"]
fn a_mistake_is_shown_mended_and_judged_and_why_is_told() {
    let Some(mut tab) = open("playground-use", Screen::DESKTOP) else {
        return;
    };
    let first = tab.number("Number(document.body.dataset.first)");
    println!("first verdict after {first} ms");
    tab.picture("playground-first");
    let before = tab.text("document.getElementById('banner').textContent");
    assert!(before.contains("4 proved, 3 held so far, not proved"), "{before}");

    // Typed as a person would: a letter of a key is missing.
    let select = "{ const from = editor.value.indexOf('deadline'); editor.focus(); \
        editor.setSelectionRange(from, from + 8); }";
    tab.eval(select);
    tab.write("dedline");
    wait(&mut tab, "document.body.dataset.state === 'mistakes'");
    let mistake = tab.text("document.querySelector('#mistakes .place').textContent");
    assert!(mistake.contains("no key dedline"), "{mistake}");
    assert_eq!(tab.text("document.querySelector('#under mark').textContent"), "dedline");
    assert_eq!(tab.text("editor.getAttribute('aria-invalid')"), "true");
    tab.picture("playground-mistake");

    tab.click("#mistakes .mend");
    wait(&mut tab, "document.body.dataset.state === 'verdict'");
    assert_eq!(tab.number("document.querySelectorAll('#mistakes li').length"), 0);
    assert_eq!(tab.eval("editor.value.includes('dedline')"), false);
    let after = tab.text("document.getElementById('banner').textContent");
    assert_eq!(after, before, "the mended plant is the same");

    // The second flow of the table: why is it so slow?
    tab.click("#table tr:nth-child(2) .why-this");
    let name = tab.text("document.querySelector('#table tr:nth-child(2) .why-this').textContent");
    wait(&mut tab, &format!("document.body.dataset.why === {name:?}"));
    let told = tab.text("document.getElementById('why').textContent");
    assert!(told.contains("switch queue"), "{told}");
    assert_eq!(tab.number("document.querySelectorAll('#why svg').length"), 1);
    tab.eval("document.getElementById('why-title').scrollIntoView({ behavior: 'instant' })");
    tab.picture("playground-why");
}

#[test]
#[ignore = "long"]
fn keys_links_files_and_a_phone() {
    let Some(mut tab) = open("playground-phone", Screen::PHONE) else {
        return;
    };
    let spills = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(tab.number(spills), 0, "a phone does not scroll sideways");
    tab.picture("playground-phone");
    tab.eval("document.getElementById('verdict').scrollIntoView({ behavior: 'instant' })");
    tab.picture("playground-phone-verdict");

    // Everything that can be used has a name.
    let nameless = "[...document.querySelectorAll('button, select, textarea, input, summary')]\
        .filter((own) => !(own.ariaLabel ?? own.labels?.[0]?.textContent ?? own.textContent).trim())\
        .length";
    assert_eq!(tab.number(nameless), 0);

    // A link has the scenario in it; the page that opens it shows that scenario.
    let text = "editor.value.replace('name: ', 'name: Linked ')";
    tab.eval(&format!("open('linked.yaml', {text}).then(() => copyLink())"));
    wait(&mut tab, "location.hash.startsWith('#s=')");
    let is_back = "(async () => { const own = editor.value; ownHash = ''; editor.value = ''; \
        await fromLink(); return editor.value === own && file === 'linked.yaml'; })()";
    assert_eq!(tab.eval(is_back), true);
    wait(&mut tab, "document.body.dataset.state === 'verdict'");

    // So does one that a report has.
    let (name, text) = &scenarios()[0];
    let link = rtether::report::playground::link("", name, text);
    let is_open = format!("location.hash = {:?}, 0", &link);
    tab.eval(&is_open);
    wait(&mut tab, "file === 'afdx.yaml'");
    assert_eq!(&tab.text("editor.value"), text);
    wait(&mut tab, "document.body.dataset.state === 'verdict'");

    // A file of another tool.
    let scd = std::fs::read_to_string(root().join("docs/guides/bay.scd")).unwrap();
    let scd = Value::from(scd);
    tab.eval(&format!("take([new File([{scd}], 'bay.scd')])"));
    wait(&mut tab, "document.body.dataset.state === 'verdict'");
    let shown = tab.text("editor.value");
    assert_eq!(shown, command(&["import", "docs/guides/bay.scd"]));
    assert_eq!(tab.eval("document.getElementById('imported').hidden"), false);

    // The report of the command, in a frame that cannot reach the page.
    tab.click("#whole summary");
    wait(&mut tab, "document.querySelector('#report iframe') !== null");
    assert_eq!(tab.text("document.querySelector('#report iframe').sandbox.value"), "allow-scripts");
}

#[test]
#[ignore = "long"]
fn what_takes_too_long_gives_way_to_what_is_typed() {
    let Some(mut tab) = open("playground-busy", Screen::DESKTOP) else {
        return;
    };
    let long = "open('long.yaml', editor.value.replace(/for: [^,]*/, 'for: 2000 s')), 0";
    assert_eq!(tab.number(long), 0);
    std::thread::sleep(Duration::from_millis(500));
    // Meanwhile a bar tells how far it is, by its role and in words.
    wait(&mut tab, "!document.getElementById('busy').hidden");
    wait(&mut tab, "document.getElementById('bar').value > 0");
    assert_eq!(tab.text("document.getElementById('bar').localName"), "progress");
    wait(&mut tab, "/^simulated \\d+ %$/.test(document.getElementById('far').textContent)");
    tab.picture("playground-busy");

    // It can be cancelled, and run again.
    tab.click("#cancel");
    assert_eq!(tab.text("document.body.dataset.state"), "cancelled");
    assert_eq!(tab.eval("document.getElementById('busy').hidden"), true);
    assert_eq!(tab.text("document.activeElement.id"), "again");
    tab.click("#again");
    wait(&mut tab, "document.getElementById('bar').value > 0");
    wait(&mut tab, "!document.getElementById('busy').hidden");
    tab.eval("open('short.yaml', examples.find((own) => own.name === 'prp.yaml').text)");
    wait(&mut tab, "document.body.dataset.state === 'verdict'");
    let shown = tab.text("document.getElementById('banner').textContent");
    assert!(shown.contains("PASS: \u{2713} proved"), "{shown}");
    wait(&mut tab, "document.getElementById('busy').hidden");
}

/// Oracle: the command on the text that the page has then.
#[test]
#[ignore = "long"]
fn a_design_is_shown_and_put_into_the_scenario() {
    let Some(mut tab) = open("playground-design", Screen::DESKTOP) else {
        return;
    };
    let text = Value::from(CROWD);
    tab.eval(&format!("open('crowd.yaml', {text}), 0"));
    wait(&mut tab, "document.body.dataset.state === 'verdict'");
    tab.click("#design");
    wait(&mut tab, "document.body.dataset.designed === 'all'");
    let told = tab.text("document.getElementById('designed').textContent");
    assert!(told.contains("1 of 1 deadline proved with 1 edit"), "{told}");
    assert!(told.contains("flows.late.pcp"), "{told}");
    tab.eval("document.getElementById('design-title').scrollIntoView({ behavior: 'instant' })");
    tab.picture("playground-design");
    tab.click("#adopt");
    wait(&mut tab, "document.body.dataset.state === 'verdict'");
    let shown = tab.text("editor.value");
    assert!(shown.contains("# urgent") && shown.contains("pcp: "), "{shown}");
    let banner = tab.text("document.getElementById('banner').textContent");
    assert!(banner.contains("PASS"), "{banner}");

    let hasty = Value::from(CROWD.replace("2 ms", "1 ms"));
    tab.eval(&format!("open('crowd.yaml', {hasty}), 0"));
    wait(&mut tab, "document.body.dataset.state === 'verdict'");
    tab.eval("document.getElementById('stream').value = 'late', 0");
    tab.click("#explain");
    wait(&mut tab, "document.body.dataset.designed === 'late'");
    let told = tab.text("document.getElementById('designed').textContent");
    assert!(told.contains("No design proves late"), "{told}");
    assert_eq!(tab.eval("document.getElementById('adopt').hidden"), true);
}
