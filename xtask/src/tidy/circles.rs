//! Circles of modules: files of a crate that use each other in a loop, and folders that do, a folder
//! with the file of its name. The known ones are listed in `xtask/circles.txt`, a list that may only
//! shrink.
//!
//! A file is a module. It uses the file that defines what it names in a path or a `use`; a
//! re-export is followed to the definition, so that a parent that only declares or re-exports its
//! children uses none of them. Three things do not count: what a file takes from the modules above
//! it, since it is a part of them; tests; and methods, whose files no path names.

mod source;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::finding::Finding;
use crate::repo::TextFile;
use source::{Source, Use};

/// The list: a circle per line, its files with spaces between.
const LIST: &str = "xtask/circles.txt";
/// Re-exports of re-exports that are followed.
const DEPTH: usize = 12;

/// Files that use each other, ordered by path.
type Circle = BTreeSet<String>;

/// Compares the circles with the list.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let list = files.iter().find(|file| file.path == LIST);
    let known = read(list.map_or("", |file| &file.text));
    let mut findings = Vec::new();
    let mut found = Vec::new();
    for graph in graphs(files) {
        for circle in graph.circles() {
            if !known.iter().any(|(_, own)| circle.is_subset(own)) {
                findings.push(graph.new_circle(&circle, &known));
            }
            found.push(circle);
        }
    }
    for (line, own) in &known {
        if found.contains(own) {
            continue;
        }
        let left: Vec<String> =
            found.iter().filter(|circle| circle.is_subset(own)).map(joined).collect();
        let advice = match left.as_slice() {
            [] => "this circle is gone; remove its line".to_owned(),
            left => format!("this circle is smaller now; put in its place:\n{}", left.join("\n")),
        };
        findings.push(Finding { path: LIST.to_owned(), line: Some(*line), message: advice });
    }
    findings
}

/// Returns the graph of files of each crate and, if that has no circle, those of its folders.
fn graphs(files: &[TextFile]) -> Vec<Graph> {
    let mut graphs = Vec::new();
    for (root, own) in &crates(files) {
        let of_files = Graph::new(own);
        // A circle of files is one of the folders that they are in, too.
        if of_files.circles().is_empty() {
            graphs.extend(of_files.by_folder(root, own));
        }
        graphs.push(of_files);
    }
    graphs
}

fn read(list: &str) -> Vec<(usize, Circle)> {
    let lines = list.lines().enumerate();
    let circles = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    circles.map(|(index, line)| (index + 1, line.split(' ').map(str::to_owned).collect())).collect()
}

fn joined(circle: &Circle) -> String {
    let names: Vec<&str> = circle.iter().map(String::as_str).collect();
    names.join(" ")
}

/// A file as a module.
struct Module {
    path: String,
    source: Source,
}

/// Modules of a crate by their names below its root.
type Crate = BTreeMap<Vec<String>, Module>;

/// Returns the crates, by the folders of their sources.
fn crates(files: &[TextFile]) -> BTreeMap<String, Crate> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    let mut test_modules = BTreeSet::new();
    for file in files {
        let Some((folder, names)) = module_of(&file.path) else {
            continue;
        };
        let source = Source::read(&file.text);
        for name in &source.test_modules {
            let child = [&names[..], std::slice::from_ref(name)].concat();
            test_modules.insert((folder.clone(), child));
        }
        let path = file.path.clone();
        let module = Module { path, source };
        crates.entry(folder).or_default().insert(names, module);
    }
    for (folder, own) in &mut crates {
        let is_test = |names: &[String]| {
            (1..=names.len()).any(|length| {
                let above = (folder.clone(), names[..length].to_vec());
                test_modules.contains(&above)
            })
        };
        own.retain(|names, _| !is_test(names));
    }
    crates
}

/// Returns the folder of sources and the name of a module; `None` for other files and tests.
fn module_of(path: &str) -> Option<(String, Vec<String>)> {
    let (folder, rest) = path.split_once("/src/")?;
    let rest = rest.strip_suffix(".rs")?;
    let mut names: Vec<String> = rest.split('/').map(str::to_owned).collect();
    if names.iter().any(|name| name == "tests") {
        return None;
    }
    let is_root = names.len() == 1 && matches!(rest, "lib" | "main");
    if is_root || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    // The library is the root if there are both.
    let is_program = rest == "main" && folder == "crates/rtether-cli";
    (!is_program).then_some((format!("{folder}/src"), names))
}

/// Which file or folder of a crate uses which.
#[derive(Default)]
struct Graph {
    arrows: BTreeMap<String, BTreeMap<String, Place>>,
}

/// The first line that uses another module, and its file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    path: String,
    line: usize,
}

impl Graph {
    fn new(modules: &Crate) -> Self {
        let mut arrows: BTreeMap<String, BTreeMap<String, Place>> = BTreeMap::new();
        for (names, module) in modules {
            let own = arrows.entry(module.path.clone()).or_default();
            let mut add = |target: Option<&Vec<String>>, line: usize| {
                // A module itself, or one that it is a part of.
                let target = target.filter(|target| !names.starts_with(target));
                if let Some(target) = target.and_then(|target| modules.get(target)) {
                    let place = Place { path: module.path.clone(), line };
                    let first = own.entry(target.path.clone()).or_insert(place);
                    first.line = line.min(first.line);
                }
            };
            for used in &module.source.uses {
                for (target, line) in targets(modules, names, used) {
                    add(Some(&target), line);
                }
            }
            for mention in &module.source.mentions {
                if mention.path.len() > 1 {
                    add(resolve(modules, names, &mention.path, DEPTH).as_ref(), mention.line);
                }
            }
        }
        Self { arrows }
    }

    /// Returns the graphs of what stands in one folder, a module together with all that is below it;
    /// `root` is the folder of the crate.
    fn by_folder(&self, root: &str, modules: &Crate) -> Vec<Self> {
        let names: BTreeMap<&str, &[String]> =
            modules.iter().map(|(names, own)| (own.path.as_str(), &names[..])).collect();
        let mut graphs: BTreeMap<&[String], Self> = BTreeMap::new();
        for (from, targets) in &self.arrows {
            for (to, place) in targets {
                let (from, to) = (names[from.as_str()], names[to.as_str()]);
                let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
                // One of them may be a part of the other.
                if common < from.len() && common < to.len() {
                    let [from_label, to_label] =
                        [from, to].map(|names| format!("{root}/{}", names[..=common].join("/")));
                    let arrows = &mut graphs.entry(&from[..common]).or_default().arrows;
                    arrows.entry(to_label.clone()).or_default();
                    let own = arrows.entry(from_label).or_default();
                    own.entry(to_label).or_insert_with(|| place.clone());
                }
            }
        }
        graphs.into_values().collect()
    }

    /// Returns the files that can be reached from a file, each with the one before it.
    fn reach(&self, start: &str) -> BTreeMap<&str, &str> {
        let mut before = BTreeMap::new();
        let mut pending = VecDeque::from([start]);
        while let Some(file) = pending.pop_front() {
            let Some((file, targets)) = self.arrows.get_key_value(file) else {
                continue;
            };
            for target in targets.keys() {
                if !before.contains_key(target.as_str()) {
                    before.insert(target.as_str(), file.as_str());
                    pending.push_back(target);
                }
            }
        }
        before
    }

    fn circles(&self) -> Vec<Circle> {
        let reach: BTreeMap<&str, _> =
            self.arrows.keys().map(|file| (file.as_str(), self.reach(file))).collect();
        let mut circles: Vec<Circle> = Vec::new();
        for (file, reached) in &reach {
            if !reached.contains_key(file) || circles.iter().any(|own| own.contains(*file)) {
                continue;
            }
            let both = reached.keys().filter(|other| reach[**other].contains_key(file));
            circles.push(both.map(|other| (*other).to_owned()).collect());
        }
        circles
    }

    /// Names a circle, and the shortest way round through a file that no listed one has.
    fn new_circle(&self, circle: &Circle, known: &[(usize, Circle)]) -> Finding {
        let is_known = |file: &String| known.iter().any(|(_, own)| own.contains(file));
        let new = circle.iter().filter(|file| !is_known(file));
        let new: Vec<&String> = new.collect();
        let starts = if new.is_empty() { circle.iter().collect() } else { new };
        let ways = starts.into_iter().map(|start| self.way_round(start));
        let way = ways.min_by_key(Vec::len).unwrap_or_default();
        let lines: Vec<String> = way
            .iter()
            .map(|(from, to)| {
                let Place { path, line } = &self.arrows[*from][*to];
                format!("\n  {path}:{line} uses {to}")
            })
            .collect();
        let first = way.first().map(|(from, to)| self.arrows[*from][*to].clone());
        Finding {
            path: first.as_ref().map_or(LIST, |place| &place.path).to_owned(),
            line: first.as_ref().map(|place| place.line),
            message: format!(
                "a circle of modules that {LIST} does not have: {}{}\n  move what both need into \
                 a file of its own",
                joined(circle),
                lines.concat()
            ),
        }
    }

    /// Returns the shortest way from a file back to it.
    fn way_round(&self, start: &str) -> Vec<(&str, &str)> {
        let before = self.reach(start);
        let mut way = Vec::new();
        let mut at = start;
        while let Some((to, from)) = before.get_key_value(at) {
            way.push((*from, *to));
            at = from;
            if at == start {
                break;
            }
        }
        way.reverse();
        way
    }
}

/// Returns the modules that a `use` declaration uses, and the line.
fn targets(modules: &Crate, own: &[String], used: &Use) -> Vec<(Vec<String>, usize)> {
    let source = &modules[own].source;
    if used.name == "*" {
        // A glob brings in what is named after it.
        let Some(module) = module_at(modules, own, &used.path) else {
            return Vec::new();
        };
        if used.is_public {
            return Vec::new();
        }
        let taken = source.names.iter().filter_map(|name| {
            let target = find(modules, &module, name, &[], DEPTH)?;
            Some((target, used.line))
        });
        return taken.collect();
    }
    // What a parent re-exports and does not name itself, it does not use. A module that is brought
    // in counts where its items are named.
    let is_handed_on = used.is_public && !source.names.contains(&used.name);
    if is_handed_on || module_at(modules, own, &used.path).is_some() {
        return Vec::new();
    }
    let target = resolve(modules, own, &used.path, DEPTH);
    target.map(|target| (target, used.line)).into_iter().collect()
}

/// Returns the module whose file defines what a path names, as seen from a module.
fn resolve(modules: &Crate, own: &[String], path: &[String], depth: usize) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => below(modules, Vec::new(), rest, depth),
        "self" => below(modules, own.to_vec(), rest, depth),
        "super" => {
            let (_, parent) = own.split_last()?;
            match rest.first().map(String::as_str) {
                Some("super") => resolve(modules, parent, rest, depth),
                _ => below(modules, parent.to_vec(), rest, depth),
            }
        }
        _ => {
            let child = [own, std::slice::from_ref(first)].concat();
            if modules.contains_key(&child) {
                return below(modules, child, rest, depth);
            }
            let source = &modules.get(own)?.source;
            let alias = source.uses.iter().find(|used| used.name == *first)?;
            if alias.path.first() == Some(first) || depth == 0 {
                return None;
            }
            let whole = [&alias.path[..], rest].concat();
            resolve(modules, own, &whole, depth - 1)
        }
    }
}

/// Follows a path down from a module to the one that defines its item.
fn below(
    modules: &Crate,
    mut at: Vec<String>,
    path: &[String],
    depth: usize,
) -> Option<Vec<String>> {
    let mut rest = path;
    while let Some((first, more)) = rest.split_first() {
        let child = [&at[..], std::slice::from_ref(first)].concat();
        if !modules.contains_key(&child) {
            return find(modules, &at, first, more, depth).or(Some(at));
        }
        at = child;
        rest = more;
    }
    Some(at)
}

/// Returns the module that defines a name visible in a module, or what follows it.
fn find(
    modules: &Crate,
    at: &[String],
    name: &String,
    rest: &[String],
    depth: usize,
) -> Option<Vec<String>> {
    let source = &modules.get(at)?.source;
    if source.items.contains(name) {
        return Some(at.to_vec());
    }
    let depth = depth.checked_sub(1)?;
    if let Some(used) = source.uses.iter().find(|used| used.name == *name) {
        let path = [&used.path[..], rest].concat();
        return resolve(modules, at, &path, depth);
    }
    let globs = source.uses.iter().filter(|used| used.name == "*");
    let mut found = globs.filter_map(|glob| {
        let module = module_at(modules, at, &glob.path)?;
        find(modules, &module, name, rest, depth)
    });
    found.next()
}

/// Returns the module that a path names, if it names a module with a file.
fn module_at(modules: &Crate, own: &[String], path: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let (start, rest) = match first.as_str() {
        "crate" => (Vec::new(), rest),
        "self" => (own.to_vec(), rest),
        "super" => {
            let (_, parent) = own.split_last()?;
            if rest.first().is_some_and(|next| next == "super") {
                return module_at(modules, parent, rest);
            }
            (parent.to_vec(), rest)
        }
        _ => (own.to_vec(), path),
    };
    let whole = [&start[..], rest].concat();
    modules.contains_key(&whole).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Vec<TextFile> {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        texts.iter().map(file).collect()
    }

    fn circles(texts: &[(&str, &str)]) -> Vec<String> {
        let crates = crates(&files(texts));
        let graphs = crates.values().map(Graph::new);
        graphs.flat_map(|graph| graph.circles()).map(|circle| joined(&circle)).collect()
    }

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let a = ("c/src/a.rs", "use crate::b::B;\npub struct A;");
        let b = ("c/src/b.rs", "pub struct B;\nfn f() -> super::a::A {}");
        let root = ("c/src/lib.rs", "mod a;\nmod b;");
        assert_eq!(circles(&[a, b, root]), ["c/src/a.rs c/src/b.rs"]);
        let b = ("c/src/b.rs", "pub struct B;");
        assert!(circles(&[a, b, root]).is_empty());
    }

    fn circles_of_all(texts: &[(&str, &str)]) -> Vec<String> {
        let graphs = graphs(&files(texts)).into_iter();
        graphs.flat_map(|graph| graph.circles()).map(|circle| joined(&circle)).collect()
    }

    #[test]
    fn folders_that_use_each_other_are_a_circle() {
        // No file of them is in a circle.
        let root = ("c/src/lib.rs", "mod x;\nmod y;");
        let x = [("c/src/x/mod.rs", "mod a;\nmod b;"), ("c/src/x/a.rs", "use crate::y::Y;")];
        let b = ("c/src/x/b.rs", "pub struct B;");
        let y = ("c/src/y.rs", "use crate::x::b::B;\npub struct Y;");
        assert!(circles(&[root, x[0], x[1], b, y]).is_empty());
        assert_eq!(circles_of_all(&[root, x[0], x[1], b, y]), ["c/src/x c/src/y"]);
        let y = ("c/src/y.rs", "pub struct Y;");
        assert!(circles_of_all(&[root, x[0], x[1], b, y]).is_empty());
    }

    #[test]
    fn a_parent_that_hands_on_uses_nothing() {
        let other = ("c/src/b.rs", "use crate::m::Shared;\npub struct B;");
        let child = ("c/src/m/a.rs", "use crate::b::B;\npub struct A;");
        let handed = "mod a;\npub use a::A;\npub struct Shared;";
        assert!(circles(&[("c/src/m/mod.rs", handed), child, other]).is_empty());
        let used = format!("{handed}\nfn f(_: A) {{}}");
        let circle = ["c/src/b.rs c/src/m/a.rs c/src/m/mod.rs"];
        assert_eq!(circles(&[("c/src/m/mod.rs", &used), child, other]), circle);
        let called = "mod a;\npub struct Shared;\nfn f() { a::g(); }";
        assert_eq!(circles(&[("c/src/m/mod.rs", called), child, other]), circle);
    }

    #[test]
    fn a_part_may_use_the_whole() {
        let child = ("c/src/m/a.rs", "use super::Shared;\npub struct A;");
        let parent = "mod a;\npub struct Shared;\nfn f() { a::g(); }";
        assert!(circles(&[("c/src/m/mod.rs", parent), child]).is_empty());
    }

    #[test]
    fn a_re_export_is_followed_to_the_definition() {
        // `b` names `A` at the root, which hands it on from `a`.
        let root = ("c/src/lib.rs", "mod a;\nmod b;\npub use a::{A, glob::*};");
        let a = ("c/src/a.rs", "pub mod glob;\nuse crate::b::B;\npub struct A;");
        let glob = ("c/src/a/glob.rs", "pub struct G;");
        let b = ("c/src/b.rs", "use crate::A;\npub struct B;");
        assert_eq!(circles(&[root, a, glob, b]), ["c/src/a.rs c/src/b.rs"]);
        let b = ("c/src/b.rs", "use super::*;\npub struct B(G);");
        assert!(circles(&[root, a, glob, b]).is_empty());
        let b = ("c/src/b.rs", "use super::*;\npub struct B(A);");
        assert_eq!(circles(&[root, a, glob, b]).len(), 1);
    }

    #[test]
    fn tests_do_not_count() {
        let root = "mod a;\n#[cfg(test)]\nmod bed;\npub struct R;\n#[cfg(test)]\nuse bed::B;";
        let a = "use super::R;\n#[cfg(test)]\nmod tests;";
        let bed = "use super::a::X;\npub struct B;";
        let tests = "use super::*;";
        assert!(
            circles(&[
                ("c/src/lib.rs", root),
                ("c/src/a.rs", a),
                ("c/src/a/tests.rs", tests),
                ("c/src/bed.rs", bed),
            ])
            .is_empty()
        );
    }

    #[test]
    fn the_list_is_that_of_this_workspace() {
        // `cargo xtask tidy` says the same, after it has built the product.
        let files = crate::repo::Repo::find().unwrap().text_files().unwrap();
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn the_list_may_only_shrink() {
        let root = ("c/src/lib.rs", "mod a;\nmod b;");
        let a = ("c/src/a.rs", "use crate::b::B;\npub struct A;");
        let b = ("c/src/b.rs", "use crate::a::A;\npub struct B;");
        let list = (LIST, "# known\nc/src/a.rs c/src/b.rs\n");
        assert_eq!(check(&files(&[root, a, b, list])), []);
        let found = check(&files(&[root, a, b]));
        assert_eq!((found[0].path.as_str(), found[0].line), ("c/src/a.rs", Some(1)));
        assert!(found[0].message.contains("c/src/b.rs:1 uses c/src/a.rs"));
        let found = check(&files(&[root, a, list]));
        assert_eq!(found[0].line, Some(2));
        assert!(found[0].message.contains("remove"));
        let larger = (LIST, "c/src/a.rs c/src/b.rs c/src/c.rs\n");
        let found = check(&files(&[root, a, b, larger]));
        assert!(found[0].message.ends_with("\nc/src/a.rs c/src/b.rs"));
    }
}
