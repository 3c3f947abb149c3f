//! A headless browser, asked and led over its debugging pipe.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rtether_testkit::{Folder, skip};
use serde_json::{Value, json};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Time limit for one answer, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(3);
/// An element stands still if this many frames in a row show it at the same place.
const CALM: usize = 3;
/// Browsers are large and tests are many: one after the other.
static ONE: Mutex<()> = Mutex::new(());

const FLAGS: [&str; 15] = [
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
    "--remote-debugging-pipe",
];

/// Returns a browser, or `None` after reporting that there is none.
pub(crate) fn find() -> Option<String> {
    let answers = |name: &String| {
        let version = Command::new(name).arg("--version").stderr(Stdio::null()).output();
        version.is_ok_and(|output| output.status.success())
    };
    let named = std::env::var("RTETHER_CHROMIUM").ok();
    let names = named.into_iter().chain(BROWSERS.map(String::from));
    let found = names.into_iter().find(answers);
    if found.is_none() {
        skip(&format!("no browser ({})", BROWSERS.join(", ")));
    }
    found
}

/// Size and scheme of a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) dark: bool,
}

impl Screen {
    pub(crate) const DESKTOP: Self = Self { width: 1280, height: 800, dark: false };
    pub(crate) const PHONE: Self = Self { width: 390, height: 844, dark: false };
}

/// A tab of a browser of its own.
pub(crate) struct Tab {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    calls: u64,
    folder: Folder,
    _one: MutexGuard<'static, ()>,
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Tab {
    /// Starts the browser; the shell gives it the pipes where it expects them.
    pub(crate) fn open(browser: &str, test: &str) -> Self {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Folder::new(test);
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(browser)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.file("profile")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, messages) = channel();
        std::thread::spawn(move || {
            for message in output.split(0) {
                let Ok(message) = message else { break };
                if send.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let mut tab = Self { child, input, messages, session: None, calls: 0, folder, _one: one };
        let target = tab.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let session = tab.call("Target.attachToTarget", &target);
        tab.session = session["sessionId"].as_str().map(str::to_owned);
        tab.call("Page.enable", &json!({}));
        tab
    }

    /// Calls a method of the debugging protocol.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.input, "{message}\0").unwrap();
        let own = self.calls;
        let answer = self.wait(|message| message["id"] == own);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    fn wait(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.messages.recv_timeout(PATIENCE);
            let message = message.expect("the browser answers in time");
            if is_wanted(&message) {
                return message;
            }
        }
    }

    /// Loads a page.
    pub(crate) fn show(&mut self, page: &str, screen: Screen) {
        self.turn(screen);
        let file = self.folder.write("page.html", page);
        let url = json!({ "url": format!("file://{file}") });
        // The answer may come after the event.
        self.calls += 1;
        let session = self.session.as_deref();
        let (id, method) = (self.calls, "Page.navigate");
        let message = json!({ "id": id, "method": method, "params": url, "sessionId": session });
        write!(self.input, "{message}\0").unwrap();
        self.wait(|message| message["method"] == "Page.loadEventFired");
    }

    /// Changes the screen.
    pub(crate) fn turn(&mut self, screen: Screen) {
        let Screen { width, height, dark } = screen;
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let value = if dark { "dark" } else { "light" };
        let scheme = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": scheme }));
    }

    /// Returns the value of an expression in the page, or that of its promise.
    pub(crate) fn eval(&mut self, script: &str) -> Value {
        let parameters =
            json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &parameters);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    pub(crate) fn number(&mut self, script: &str) -> usize {
        let value = self.eval(script);
        let number = value.as_u64().unwrap_or_else(|| panic!("{script}: {value}"));
        usize::try_from(number).unwrap()
    }

    /// Returns a number that is there once the page is painted.
    pub(crate) fn number_in_time(&mut self, script: &str) -> usize {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE && self.eval(script).is_null() {
            std::thread::sleep(Duration::from_millis(50));
        }
        self.number(script)
    }

    pub(crate) fn text(&mut self, script: &str) -> String {
        let value = self.eval(script);
        let text = value.as_str().unwrap_or_else(|| panic!("{script}: {value}"));
        text.replace('\u{a0}', " ")
    }

    /// Presses a key: `Tab`, `Enter` or ` `.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            " " => ("Space", 32, " "),
            other => panic!("no key {other}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({
                "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number,
            });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types into what has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Clicks on the middle of an element once it stands still in view: on a busy machine, a scroll that
    /// began earlier moves the page for some more frames, and the click would land beside the element.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = format!(
            "new Promise((found) => {{ const part = document.querySelector({selector:?}); \
             const middle = () => {{ const box = part.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }}; \
             let [before, calm] = [null, 0]; \
             const look = () => {{ \
             calm = String(middle()) === String(before) ? calm + 1 : 0; \
             if (calm === 0) {{ part.scrollIntoView({{ block: 'center', behavior: 'instant' }}); }} \
             before = middle(); \
             if (calm < {CALM}) {{ requestAnimationFrame(look); }} else {{ found(before); }} }}; \
             requestAnimationFrame(look); }})"
        );
        let place = self.eval(&place);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Takes a picture of the screen, and keeps a copy if asked to.
    pub(crate) fn picture(&mut self, name: &str) -> Vec<u8> {
        let answer = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        let picture = decoded(answer["data"].as_str().unwrap());
        keep(&format!("{name}.png"), &picture);
        picture
    }
}

/// Keeps a file if `RTETHER_SCREENSHOTS` names a directory.
pub(crate) fn keep(name: &str, content: &[u8]) {
    if let Some(directory) = std::env::var_os("RTETHER_SCREENSHOTS") {
        fs::create_dir_all(&directory).unwrap();
        fs::write(Path::new(&directory).join(name), content).unwrap();
    }
}

/// Decodes Base64 (RFC 4648).
fn decoded(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values = text.bytes().filter(|byte| *byte != b'=').map(|byte| {
        let place = digits.iter().position(|digit| *digit == byte);
        u32::try_from(place.unwrap()).unwrap()
    });
    let values: Vec<u32> = values.collect();
    let groups = values.chunks(4).flat_map(|group| {
        let bits = group.iter().fold(0, |bits, value| bits << 6 | value);
        let bits = bits << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    });
    groups.collect()
}

#[test]
fn base64_as_in_the_standard() {
    for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9vYmFy", "foobar")] {
        assert_eq!(decoded(text), bytes.as_bytes());
    }
}

/// Oracle: the page counts the clicks. Its script is busy while the browser scrolls, as on a slow machine.
#[test]
fn a_click_lands_although_the_page_glides() {
    let Some(browser) = find() else { return };
    let page = "<!doctype html><html style='scroll-behavior:smooth'><body style='margin:0'>\
        <div style='height:500px'></div><button id='top' onclick='count++'>x</button>\
        <div style='height:9000px'></div><button id='bottom'>y</button>\
        <div style='height:3000px'></div><script>let count = 0</script>";
    let mut tab = Tab::open(&browser, "glides");
    for busy in [0, 20, 100, 200, 300] {
        tab.show(page, Screen::DESKTOP);
        tab.eval("document.getElementById('bottom').focus()");
        let frames =
            "new Promise((over) => requestAnimationFrame(() => requestAnimationFrame(over)))";
        tab.eval(frames);
        tab.eval(&format!(
            "{{ const end = performance.now() + {busy}; while (performance.now() < end); }}"
        ));
        tab.click("#top");
        assert_eq!(tab.number("count"), 1, "busy for {busy} ms");
    }
}
