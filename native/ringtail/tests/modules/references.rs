//! What a module's text names.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Meta, UseTree, Visibility};

/// A path as written, without generic arguments.
pub type Path = Vec<String>;

/// A name that `use` brings into a module, and what it stands for.
pub struct Import {
    /// `*` for all names of a module.
    pub name: String,
    pub path: Path,
}

/// What one module names, its inner ones left out.
#[derive(Default)]
pub struct References {
    /// In the text, and in each `use` that does not merely pass a name on.
    pub named: Vec<Path>,
    pub imports: Vec<Import>,
    /// Inner modules: those with their items here, and those with a file of their own.
    pub modules: Vec<(String, Option<Vec<Item>>)>,
    depth: usize,
}

impl References {
    pub fn of(items: &[Item]) -> Self {
        let mut references = Self::default();
        items.iter().for_each(|item| references.visit_item(item));
        references
    }

    /// Paths of macros and attributes, whose text is not Rust until they have run.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Path::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_of_path(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end_of_path(&mut path);
                    self.tokens(group.stream());
                }
                _ => {
                    self.end_of_path(&mut path);
                    colons = 0;
                }
            }
        }
        self.end_of_path(&mut path);
    }

    /// A single word may be anything in a macro.
    fn end_of_path(&mut self, path: &mut Path) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.named.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for References {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let items = item.content.as_ref().map(|(_, items)| items.to_vec());
        self.modules.push((item.ident.to_string(), items));
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        let mut imports = Vec::new();
        leaves(&item.tree, &mut Path::new(), &mut imports);
        for import in imports {
            let passed_on = !matches!(item.vis, Visibility::Inherited) && import.name != "*";
            if !passed_on {
                self.named.push(import.path.clone());
            }
            if self.depth == 0 {
                self.imports.push(import);
            }
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.depth += 1;
        visit::visit_block(self, block);
        self.depth -= 1;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.named.push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.visit_path(&called.path);
        self.tokens(called.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }

    /// Who may see something is not what it needs.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn is_for_tests(attribute: &Attribute) -> bool {
    let condition = attribute.meta.require_list().ok().filter(|list| list.path.is_ident("cfg"));
    condition.is_some_and(|list| list.tokens.to_string() == "test")
}

/// The names that a `use` brings.
fn leaves(tree: &UseTree, prefix: &mut Path, imports: &mut Vec<Import>) {
    let mut leaf = |name: String, last: Option<String>| {
        let path = prefix.iter().cloned().chain(last).collect();
        imports.push(Import { name, path });
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            leaves(&path.tree, prefix, imports);
            prefix.pop();
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| leaves(tree, prefix, imports));
        }
        UseTree::Name(name) if name.ident == "self" => {
            leaf(prefix.last().expect("self is of something").clone(), None);
        }
        UseTree::Name(name) => leaf(name.ident.to_string(), Some(name.ident.to_string())),
        UseTree::Rename(rename) if rename.ident == "self" => leaf(rename.rename.to_string(), None),
        UseTree::Rename(rename) => {
            leaf(rename.rename.to_string(), Some(rename.ident.to_string()));
        }
        UseTree::Glob(_) => leaf("*".to_owned(), None),
    }
}
