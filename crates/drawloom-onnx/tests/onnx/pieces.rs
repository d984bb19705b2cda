//! A model in pieces: the sample, all at once and cut, and the files that batches come from.

use std::sync::Arc;

use drawloom_onnx::sample::{sample_batch, sample_model};
use drawloom_runtime::Loom;
use drawloom_tensor::Model;
use drawloom_tensor::files::{ArrayFile, NpyWriter, write_npy};
use drawloom_tensor::{ElementType, ErrorKind, Pieces, Rows, Settings, Tensor};

use crate::Directory;
use crate::build::tensor;

fn sample() -> Model {
    drawloom_onnx::from_bytes(&sample_model().unwrap(), None).unwrap()
}

#[test]
fn the_sample_is_the_same_in_pieces_bit_for_bit() {
    let (model, batch) = (sample(), sample_batch(19).unwrap());
    let whole = model.run(&[("image", batch.view())], &Settings::new()).unwrap();
    let sum: f32 = whole.outputs()[0].values::<f32>().unwrap()[..10].iter().sum();
    assert!((sum - 1.0).abs() < 1e-5, "the classes of an image add up to one: {sum}");
    let rows: Arc<dyn Rows> = Arc::new(batch);
    for workers in [1, 2] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        for piece in [1, 3, 4, 16, 19] {
            let pieces = Pieces::new().piece(piece).workers(workers);
            let plan = model.plan(&[("image", Arc::clone(&rows))], &pieces).unwrap();
            let outcome = plan.run(&loom).unwrap();
            assert_eq!(outcome.output("class"), whole.output("class"), "pieces of {piece}");
            assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes());
        }
        let plan = model.plan(&[("image", Arc::clone(&rows))], &Pieces::new().memory(400 << 10)).unwrap();
        assert!(plan.predicted_peak_bytes() <= 400 << 10, "{plan}");
        assert_eq!(plan.run(&loom).unwrap().output("class"), whole.output("class"));
    }
}

/// Rows that go into a file as they are computed need no memory.
#[test]
fn results_may_go_to_a_file_as_they_come() {
    let folder = Directory::new("sink");
    let (model, batch) = (sample(), sample_batch(50).unwrap());
    let whole = model.run(&[("image", batch.view())], &Settings::new()).unwrap();
    let path = folder.0.join("classes.npy");
    let pieces = Pieces::new().piece(3).workers(2);
    let inputs: [(&str, Arc<dyn Rows>); 1] = [("image", Arc::new(batch))];
    let kept = model.plan(&inputs, &pieces).unwrap();
    let given = pieces.sink("class", Arc::new(NpyWriter::new(&path)));
    let plan = model.plan(&inputs, &given).unwrap();
    assert!(plan.result_bytes() == 0 && kept.result_bytes() >= 50 * 10 * 4);
    let outcome = plan.run(&Loom::builder().workers(2).build().unwrap()).unwrap();
    assert!(outcome.output("class").is_none());
    assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes());
    let mut read = Tensor::zeros(ElementType::F32, &[50, 10]).unwrap();
    ArrayFile::npy(&path).unwrap().read(0, 0, &mut read).unwrap();
    assert_eq!(Some(&read), whole.output("class"));
    let unknown = Pieces::new().sink("none", Arc::new(NpyWriter::new(&path)));
    assert!(model.plan(&inputs, &unknown).err().unwrap().to_string().contains("there is no output `none`"));
    let nowhere = Pieces::new().sink("class", Arc::new(NpyWriter::new(&folder.0.join("no/such/folder.npy"))));
    let error = model.plan(&inputs, &nowhere).unwrap().run(&Loom::serial()).err().unwrap();
    assert!(error.to_string().contains("folder.npy: it cannot be written"), "{error}");
}

#[test]
fn inputs_are_checked_before_anything_runs() {
    let model = sample();
    let plan = |name: &str, rows: Tensor| model.plan(&[(name, Arc::new(rows))], &Pieces::new()).err().unwrap();
    let wrong = plan("image", tensor(&[2, 3, 16, 16], &[0.0f32; 1536]));
    assert!(wrong.to_string().contains("input image: f32[rows, 3, 32, 32] does not fit"), "{wrong}");
    assert!(plan("picture", sample_batch(1).unwrap()).to_string().contains("no input `picture`"));
    let missing = model.plan(&[], &Pieces::new()).err().unwrap();
    assert!(missing.to_string().contains("input `image` is missing"), "{missing}");
    let memory = model.plan(&[("image", Arc::new(sample_batch(4).unwrap()))], &Pieces::new().memory(1000)).err();
    assert_eq!(memory.unwrap().kind(), ErrorKind::Memory);
}

#[test]
fn arrays_of_every_type_survive_a_file() {
    let folder = Directory::new("npy");
    let path = folder.0.join("a.npy");
    let tensors = [
        tensor(&[2, 3], &[1.5f32, -2.0, 3.0, 4.0, 5.0, 6.0]),
        tensor(&[3], &[1.0f64, f64::MAX, -0.0]),
        tensor(&[1, 1, 2], &[i64::MIN, 7]),
        tensor(&[2], &[i32::MAX, -1]),
        tensor(&[4], &[0u8, 1, 2, 255]),
        tensor(&[2], &[-128i8, 127]),
        tensor(&[2], &[true, false]),
        tensor(&[0, 5], &[] as &[f32]),
        Tensor::scalar(2.5f32),
    ];
    for tensor in tensors {
        write_npy(&path, tensor.view()).unwrap();
        let file = ArrayFile::npy(&path).unwrap();
        assert_eq!((file.element(), file.shape()), (tensor.element(), tensor.shape()));
        let mut read = Tensor::zeros(tensor.element(), tensor.shape()).unwrap();
        file.read(0, 0, &mut read).unwrap();
        assert_eq!(read, tensor);
    }
    // Rows along the last axis, from the middle.
    write_npy(&path, tensor(&[2, 4], &[0i64, 1, 2, 3, 4, 5, 6, 7]).view()).unwrap();
    let mut some = Tensor::zeros(ElementType::I64, &[2, 2]).unwrap();
    ArrayFile::npy(&path).unwrap().read(1, 1, &mut some).unwrap();
    assert_eq!(some, tensor(&[2, 2], &[1i64, 2, 5, 6]));
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = Directory::new("bad");
    let path = folder.0.join("a.npy");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        ArrayFile::npy(&path).err().unwrap().to_string()
    };
    let header = |text: &str, rest: &[u8]| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(rest);
        bytes
    };
    assert!(read(b"").contains("not a file of NumPy"));
    assert!(read(b"PK\x03\x04 something else").contains("does not begin with"));
    assert!(read(b"\x93NUMPY\x09\x00aaaa").contains("version 9"));
    let whole = |descr: &str, fortran: &str, shape: &str| {
        header(&format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"), &[0; 16])
    };
    assert!(read(&whole("'<c8'", "False", "(2,)")).contains("elements of type `<c8` are not supported"));
    assert!(read(&whole("'>f4'", "False", "(4,)")).contains("`>f4`"));
    assert!(read(&whole("[('a', '<f4')]", "False", "(4,)")).contains("records"));
    assert!(read(&whole("'<f4'", "True", "(2, 2)")).contains("ascontiguousarray"));
    assert!(read(&whole("'<f4'", "False", "(5,)")).contains("takes 20 bytes, and there are 16"));
    assert!(read(&whole("'<f4'", "False", "(99999999999, 99999999999)")).contains("more elements than memory"));
    assert!(read(&whole("'<f4'", "False", "(-1,)")).contains("not the length of an axis"));
    let raw = |shape: &[Option<usize>]| ArrayFile::raw(&path, ElementType::F32, shape);
    std::fs::write(&path, [0; 24]).unwrap();
    assert_eq!(raw(&[None, Some(2)]).unwrap().shape(), [3, 2]);
    assert!(raw(&[None, Some(4)]).err().unwrap().to_string().contains("24 bytes, which are not rows of 16"));
    assert!(raw(&[None, None]).err().unwrap().to_string().contains("more than one axis"));
    assert!(ArrayFile::npy(&folder.0.join("none.npy")).err().unwrap().to_string().contains("it cannot be read"));
}
