//! The modules of a crate, and which of them a path leads to.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path as FilePath;

use syn::Item;

use crate::circles::Needs;
use crate::references::{Path, References};

/// Where a module is in the tree: the names from the root on.
type Place = Vec<String>;

struct Module {
    references: References,
    /// The module whose file this one stands in.
    file: Place,
}

/// The modules of a crate.
#[derive(Default)]
pub struct Tree {
    modules: BTreeMap<Place, Module>,
}

/// Passing a name on more often than this is going round.
const MOST_STEPS: usize = 32;

impl Tree {
    /// From the file of the root module on.
    pub fn read(root: &FilePath) -> Self {
        let mut tree = Self::default();
        let folder = root.parent().expect("the folder of the root module");
        tree.file(root, folder, Place::new());
        tree
    }

    /// `folder`: where the files of inner modules are.
    fn file(&mut self, file: &FilePath, folder: &FilePath, place: Place) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.items(&parsed.items, folder, &place.clone(), place);
    }

    fn items(&mut self, items: &[Item], folder: &FilePath, file: &Place, place: Place) {
        let references = References::of(items);
        for (name, inner) in &references.modules {
            let inside = inside(&place, name);
            let folder_inside = folder.join(name);
            if let Some(items) = inner {
                self.items(items, &folder_inside, file, inside);
                continue;
            }
            let candidates = [folder.join(format!("{name}.rs")), folder_inside.join("mod.rs")];
            let found = candidates.iter().find(|candidate| candidate.exists());
            let found = found.unwrap_or_else(|| panic!("no file of module {}", inside.join("::")));
            self.file(found, &folder_inside, inside);
        }
        self.modules.insert(place, Module { references, file: file.clone() });
    }

    /// The modules that have a file.
    pub fn files(&self) -> impl Iterator<Item = &Place> {
        self.modules.iter().filter(|(place, module)| **place == module.file).map(|(place, _)| place)
    }

    /// What each file needs of others.
    pub fn needs(&self) -> Needs {
        let mut needs: Needs = self.files().map(|place| (shown(place), BTreeMap::new())).collect();
        for (place, module) in &self.modules {
            for path in &module.references.named {
                let Some(target) = self.resolve(place, path, 0) else { continue };
                let target = &self.modules[&target].file;
                if *target != module.file {
                    let of_file = needs.get_mut(&shown(&module.file)).expect("listed above");
                    of_file.entry(shown(target)).or_insert_with(|| path.join("::"));
                }
            }
        }
        needs
    }

    /// The module that defines what a path names; none if that is not of this crate, or not of any
    /// module.
    fn resolve(&self, from: &Place, path: &[String], steps: usize) -> Option<Place> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(Place::new(), rest, steps),
            "self" => self.walk(from.clone(), rest, steps),
            "super" => {
                let (_, outside) = from.split_last()?;
                let outside = outside.to_vec();
                match rest.first().map(String::as_str) {
                    Some("super") => self.resolve(&outside, rest, steps),
                    _ => self.walk(outside, rest, steps),
                }
            }
            // A word alone that a module is called by is a variable.
            _ if rest.is_empty() && self.modules.contains_key(&inside(from, first)) => None,
            _ if self.modules.contains_key(&inside(from, first)) => {
                self.walk(from.clone(), path, steps)
            }
            _ => self.imported(from, first, rest, steps)?,
        }
    }

    /// From a module of this crate on.
    fn walk(&self, from: Place, path: &[String], steps: usize) -> Option<Place> {
        let Some((first, rest)) = path.split_first() else { return Some(from) };
        let inner = inside(&from, first);
        if self.modules.contains_key(&inner) {
            return self.walk(inner, rest, steps);
        }
        // What is not passed on is defined here.
        self.imported(&from, first, rest, steps).unwrap_or(Some(from))
    }

    /// What a path leads to that begins with a name which a module's `use` brought; none if none
    /// did, and within it none if it is not of this crate.
    fn imported(
        &self,
        module: &Place,
        first: &str,
        rest: &[String],
        steps: usize,
    ) -> Option<Option<Place>> {
        let mut imports = self.modules[module].references.imports.iter();
        let import = imports.find(|import| import.name == first)?;
        if steps > MOST_STEPS || import.path == [first] {
            return Some(None);
        }
        let path: Path = import.path.iter().chain(rest).cloned().collect();
        Some(self.resolve(module, &path, steps + 1))
    }
}

fn inside(place: &Place, name: &str) -> Place {
    [&place[..], &[name.to_owned()]].concat()
}

/// The root has no name of its own.
fn shown(place: &Place) -> String {
    if place.is_empty() { "the root".to_owned() } else { place.join("::") }
}
