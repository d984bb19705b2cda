//! The examples of the language's page in the guide do what their labels say.

use drawloom_lang::load::load;

#[test]
fn the_examples_of_the_language_page_are_true() {
    let page = include_str!("../../../../book/src/language.md");
    let mut examples = 0;
    for block in page.split("```loom,").skip(1) {
        let (label, rest) = block.split_once('\n').expect("a block starts on its own line");
        let (text, _) = rest.split_once("```").expect("a block ends");
        let loaded = load("language.md", text.as_bytes()).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let mut rules: Vec<&str> = loaded.findings.iter().map(|d| d.rule.code()).collect();
        rules.extend(loaded.graph.check().violations.iter().map(|d| d.rule.code()));
        let expected: Vec<&str> = label.strip_prefix("fails:").into_iter().collect();
        assert_eq!(rules, expected, "{text}");
        examples += 1;
    }
    assert_eq!(examples, page.matches("```loom").count());
    assert!(examples >= 5, "the page shows {examples} examples");
}
