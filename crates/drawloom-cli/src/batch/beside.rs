//! Files beside a model that hold values of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rten_onnx::onnx::{GraphProto, ModelProto, TensorProto};

/// The files beside a model that hold values of it. The model was read before, so that its messages are known to be sound.
pub(super) fn files_beside(model: &Path) -> Vec<PathBuf> {
    let message = fs::read(model).ok().and_then(|bytes| ModelProto::parse_buf(&bytes).ok());
    let mut names = BTreeSet::new();
    if let Some(graph) = message.as_ref().and_then(|message| message.graph.as_ref()) {
        add(graph, &mut names);
    }
    let folder = model.parent().unwrap_or(Path::new(""));
    names.into_iter().map(|name| folder.join(name)).collect()
}

fn add<'a>(graph: &'a GraphProto, names: &mut BTreeSet<&'a str>) {
    let attributes = || graph.node.iter().flat_map(|node| &node.attribute);
    let tensors = graph.initializer.iter().chain(attributes().filter_map(|attribute| attribute.t.as_ref()));
    names.extend(tensors.filter_map(location));
    attributes().filter_map(|attribute| attribute.g.as_ref()).for_each(|graph| add(graph, names));
}

/// The file that holds the values of a tensor, if that is another one.
fn location(tensor: &TensorProto) -> Option<&str> {
    let entry = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some("location"));
    entry.and_then(|entry| entry.value.as_deref())
}
