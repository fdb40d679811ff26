//! In no crate of the workspace do modules need each other in a circle: whoever reads a module can
//! read what it needs before it, and never comes back.
//!
//! A file is a module here, with the modules inside of it. It needs another one where it names
//! something of it, outside of tests. A name is followed through `use` to where it is defined, so a
//! module that only declares others and passes their names on needs none of them, and may be gone
//! through by those it declares.

mod circles;
mod references;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};

use circles::circles;
use tree::Tree;

/// The crates of the workspace: name and root file.
fn crates() -> Vec<(String, PathBuf)> {
    let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut crates = Vec::new();
    for entry in fs::read_dir(native).expect("the folder of all crates") {
        let folder = entry.expect("a readable folder").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let roots = ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file));
        crates.extend(
            roots.into_iter().filter(|root| root.exists()).map(|root| (name.clone(), root)),
        );
    }
    crates.sort();
    crates
}

#[test]
fn no_modules_need_each_other_in_a_circle() {
    let crates = crates();
    assert!(crates.len() >= 6, "too few crates: {crates:?}");
    let mut found = Vec::new();
    for (name, root) in crates {
        let tree = Tree::read(&root);
        assert!(tree.files().count() > 1, "{name} has more modules than one");
        let circles = circles(&tree.needs());
        found.extend(circles.into_iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(found.is_empty(), "modules need each other in a circle:\n{}", found.join("\n"));
}

/// The circles of a crate made of these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let tree = Tree::read(&folder.path().join("lib.rs"));
    circles(&tree.needs()).into_iter().map(|circle| circle.modules).collect()
}

#[test]
fn a_circle_is_found_however_its_names_are_written() {
    const WAYS_TO_B: [&str; 9] = [
        "use crate::b::B;",
        "use super::b::{self, B as Other};",
        "use crate::B;",
        "fn f() { use crate::b::*; }",
        "fn f() -> Vec<crate::b::B> { Vec::new() }",
        "impl crate::b::Trait for u8 {}",
        "fn f() { assert!(matches!(0, super::b::ZERO)); }",
        "mod inner { pub fn f() { super::super::b::f() } }",
        "#[serde(with = crate::b)] struct A;",
    ];
    for way in WAYS_TO_B {
        let a = format!("pub struct A; {way}");
        let lib = "mod a; mod b; pub use b::B;";
        let found = circles_of(&[("lib.rs", lib), ("a.rs", &a), ("b.rs", "use crate::a::A;")]);
        assert_eq!(found, [["a", "b"]], "{way}");
    }
}

#[test]
fn a_circle_of_three_is_one() {
    let found = circles_of(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::c::C; use crate::d::D;"),
        ("c.rs", "use crate::a::A;"),
        ("d.rs", ""),
    ]);
    assert_eq!(found, [["a", "b", "c"]]);
}

#[test]
fn a_parent_that_defines_what_its_child_needs_does_not_need_the_child() {
    let child = ("a/b.rs", "use super::A; pub struct B(A);");
    let uses = "mod b; pub struct A; pub use b::B; fn f(b: B) {}";
    let declares = "mod b; pub struct A; pub use b::B;";
    let passes_on = "mod b; mod c; pub use b::B; pub use c::A;";
    assert_eq!(circles_of(&[("lib.rs", "mod a;"), ("a.rs", uses), child]), [["a", "a::b"]]);
    assert_eq!(circles_of(&[("lib.rs", "mod a;"), ("a/mod.rs", uses), child]), [["a", "a::b"]]);
    assert!(circles_of(&[("lib.rs", "mod a;"), ("a.rs", declares), child]).is_empty());
    let sibling = ("a/c.rs", "pub struct A;");
    assert!(circles_of(&[("lib.rs", "mod a;"), ("a.rs", passes_on), child, sibling]).is_empty());
}

#[test]
fn what_only_tests_need_makes_no_circle() {
    let b = "use crate::a::A; #[cfg(test)] mod tests { use super::*; }";
    let a = "pub struct A; #[cfg(test)] use crate::b; #[cfg(test)] fn f() { crate::b::f() }";
    assert!(circles_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b)]).is_empty());
}

#[test]
fn a_visibility_or_a_variable_is_no_need() {
    let a = "use super::b::B; pub(super) struct A; pub(in crate::a) fn f(b: u8) -> u8 { b }";
    let lib = "mod a; mod b; pub fn g(b: u8) -> u8 { b } fn h() { a::f() }";
    assert!(circles_of(&[("lib.rs", lib), ("a.rs", a), ("b.rs", "pub struct B;")]).is_empty());
}
