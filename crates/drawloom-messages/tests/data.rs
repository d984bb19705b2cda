//! Records: where their members lie, and their values as JSON and as initialisers of C.

use drawloom_messages::data::{Layout, Record, Scalar, Tuple, Type};

#[test]
fn members_lie_where_c_puts_them() {
    let inner = Tuple::new().with("a", Scalar::U8).with("b", Scalar::F64);
    let tuple = Tuple::new()
        .with("x", Scalar::U8)
        .with("y", Scalar::U32)
        .with("z", Type::array(inner, 2))
        .with("w", Scalar::U16);
    let layout = Layout::new(tuple).unwrap();
    assert_eq!(layout.size(), 48);
    assert_eq!(layout.field::<u32>("y").unwrap().offset(), 4);
    assert_eq!(layout.field::<f64>("z[1].b").unwrap().offset(), 32);
    assert_eq!(layout.field::<u16>("w").unwrap().offset(), 40);
}

#[test]
fn what_is_not_there_or_of_another_type_is_refused_by_name() {
    let layout = Layout::new(Tuple::new().with("x", Type::array(Scalar::F32, 3))).unwrap();
    assert!(layout.field::<[f32; 3]>("x").is_ok());
    for path in ["y", "x.y", "x[3]", "x[", "x[1][0]", ""] {
        assert!(layout.field::<f32>(path).unwrap_err().to_string().contains(&format!("no member {path:?}")));
    }
    assert!(layout.field::<[f32; 4]>("x").unwrap_err().to_string().contains("\"x\" is no [f32; 4]"));
}

#[test]
fn absurd_declarations_are_refused() {
    let large = Tuple::new().with("x", Type::array(Type::array(Scalar::U8, usize::MAX), usize::MAX));
    assert!(Layout::new(large).unwrap_err().to_string().contains("larger than"));
    let hollow = Tuple::new().with("x", Type::array(Tuple::new(), usize::MAX));
    assert!(Layout::new(hollow).unwrap_err().to_string().contains("larger than"));
    let mut deep = Type::from(Scalar::U8);
    for _ in 0..100 {
        deep = Type::array(deep, 1);
    }
    assert!(Layout::new(Tuple::new().with("x", deep)).unwrap_err().to_string().contains("nested deeper"));
    let twice = Tuple::new().with("x", Scalar::U8).with("x", Scalar::U8);
    assert!(Layout::new(twice).unwrap_err().to_string().contains("two members are called \"x\""));
}

fn layout() -> Layout {
    let point = Tuple::new().with("x", Scalar::F64).with_default("y", Scalar::F32, 0.5);
    let tuple = Tuple::new()
        .with("n", Scalar::U64)
        .with_default("flag", Scalar::Bool, true)
        .with("points", Type::array(point, 2))
        .with_default("name", Type::array(Scalar::Char, 4), "ab");
    Layout::new(tuple).unwrap()
}

#[test]
fn what_is_written_is_read_back_with_the_same_bits() {
    let text = r#"{"n":18446744073709551615,"flag":false,"points":[{"x":0.1,"y":0.2},{"x":"-inf","y":3}]}"#;
    let record = Record::from_json(&layout(), text).unwrap();
    let written = record.to_json();
    assert!(
        written
            .starts_with(r#"{"n":18446744073709551615,"flag":false,"points":[{"x":0.1,"y":0.2},{"x":"-inf","y":3.0}]"#)
    );
    assert_eq!(Record::from_json(&layout(), &written).unwrap(), record);
}

#[test]
fn defaults_stand_for_what_is_left_out_and_nothing_else_may_be() {
    let record = Record::from_json(&layout(), r#"{"n":1,"points":{"0":{"x":1}, "1":{"x":2,"y":9}}}"#).unwrap();
    assert_eq!(
        record.to_json(),
        r#"{"n":1,"flag":true,"points":[{"x":1.0,"y":0.5},{"x":2.0,"y":9.0}],"name":[97,98,0,0]}"#
    );
    let refused = Record::from_json(&layout(), r#"{"points":[{"x":1},{"x":1}]}"#).unwrap_err();
    assert_eq!(refused.to_string(), "the member \"n\" is missing, and has no default");
}

#[test]
fn values_of_another_type_are_refused_by_name() {
    for (text, words) in [
        (r#"{"n":-1}"#, "member \"n\": -1 is no uint64_t"),
        (r#"{"n":1.5}"#, "member \"n\": 1.5 is no uint64_t"),
        (r#"{"n":1,"flag":2}"#, "member \"flag\": 2 is no bool"),
        (r#"{"n":1,"points":[{"x":1}]}"#, "member \"points\": an array of 2 was given 1 values"),
        (r#"{"n":1,"points":{"7":{}}}"#, "member \"points\": \"7\" is no index below 2"),
        (r#"{"m":1}"#, "there is no member \"m\""),
        (r#"[1]"#, "[1] is no object"),
        (r#"{"n":"#, "not JSON"),
    ] {
        let message = Record::from_json(&layout(), text).unwrap_err().to_string();
        assert!(message.starts_with(words), "{message}");
    }
}

/// What initialisers are of.
fn tuple() -> Tuple {
    let inner = Tuple::new().with("a", Scalar::I8).with("b", Scalar::Bool);
    Tuple::new()
        .with("x", Type::array(Type::array(Scalar::F32, 3), 2))
        .with("s", Type::array(inner, 2))
        .with("n", Scalar::U64)
}

#[test]
fn initialisers_are_read_back_with_the_same_bits() {
    let layout = Layout::new(tuple()).unwrap();
    let text = "{ {{1,2.5f,-inf},{0x10,1e-3,nan}}, {{-1,1},{2,0},}, 18446744073709551615ull }";
    let record = Record::from_c(&layout, text).unwrap();
    assert_eq!(record.to_c(), "{{{1.0,2.5,-inf},{16.0,0.001,nan}},{{-1,1},{2,0}},18446744073709551615}");
    assert_eq!(Record::from_c(&layout, &record.to_c()).unwrap().bytes(), record.bytes());
}

#[test]
fn wrong_initialisers_are_refused_by_name() {
    let layout = Layout::new(Tuple::new().with("n", Scalar::U8).with("m", Type::array(Scalar::I16, 2))).unwrap();
    for (text, words) in [
        ("", "ends where '{'"),
        ("{256,{1,2}}", "member \"n\": \"256\" is no uint8_t"),
        ("{1,{1}}", "member \"m\": element 1"),
        ("{1,{1,2,3}}", "stands where '}'"),
        ("{1,{1,2}} x", "\"x\" follows"),
        ("{1,{1,2}", "ends where '}'"),
        ("{1}", "member \"m\""),
    ] {
        let message = Record::from_c(&layout, text).unwrap_err().to_string();
        assert!(message.contains(words), "{text}: {message}");
    }
}
