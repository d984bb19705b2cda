#!/usr/bin/env python3
"""Writes the mesh files of this folder with Gmsh, VTK and meshio, and what meshio reads from each of them.

    pip install gmsh meshio vtk "numpy<2"   # by numpy 2 the text that meshio writes is no mesh
    python make.py

`cases.json` lists the files. Each has a JSON file of expected values, which several files may share: the points, the cells
of each type, the data and the tags, in the order of the file. Cells of second order are reduced to their corners, and nodes
that are no corner are left out. meshio reads every file that it can; what it does not read is read by
Gmsh or VTK. Numbers are texts, so that they keep every bit.
"""

import contextlib
import io
import itertools
import json
import pathlib

import gmsh
import meshio
import numpy as np
import vtk
from meshio.gmsh import _gmsh22, _gmsh41
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

HERE = pathlib.Path(__file__).parent

# meshio's name of a type, the name of our set, corners, and the order of the corners.
SETS = {
    "vertex": ("points", 1), "line": ("lines", 2), "triangle": ("triangles", 3), "quad": ("quadrangles", 4),
    "tetra": ("tetrahedra", 4), "hexahedron": ("hexahedra", 8), "wedge": ("prisms", 6), "pyramid": ("pyramids", 5),
    "pixel": ("quadrangles", 4, [0, 1, 3, 2]), "voxel": ("hexahedra", 8, [0, 1, 3, 2, 4, 5, 7, 6]),
}
cases = []
written = {}


def set_of(cell_type):
    base = cell_type.replace("VTK_LAGRANGE_", "").lower()
    base = {"curve": "line", "quadrilateral": "quad", "tetrahedron": "tetra"}.get(base, base).rstrip("0123456789")
    name, corners, *order = SETS[base]
    return name, corners, order[0] if order else list(range(corners))


def numbers(array):
    array = np.asarray(array)
    array = array.reshape(len(array), -1)
    if array.dtype.kind == "f":
        return {"type": "float", "dim": array.shape[1], "values": " ".join(repr(float(x)) for x in array.ravel())}
    return {"type": "int", "dim": array.shape[1], "values": " ".join(str(int(x)) for x in array.ravel())}


def expected(points, blocks, point_data=None, cell_data=None, names=None, tags=None, constants=None):
    """The values of a mesh; `blocks` are (type, connectivity), and data of cells come block by block."""
    points = np.asarray(points, dtype=float)
    corner = np.zeros(len(points), bool)
    other = np.zeros(len(points), bool)
    for kind, table in blocks:
        count = set_of(kind)[1]
        corner[np.asarray(table)[:, :count].ravel()] = True
        other[np.asarray(table)[:, count:].ravel()] = True
    kept = corner | ~other
    new = np.cumsum(kept) - 1
    result = {"points": numbers(points[kept]), "left_out": int((~kept).sum()), "cells": {}, "cell_data": {}, "tags": {}}
    order = {}
    for index, (kind, table) in enumerate(blocks):
        name, count, corners = set_of(kind)
        order.setdefault(name, []).append(index)
        result["cells"].setdefault(name, []).append(new[np.asarray(table)[:, :count][:, corners]])
    result["cells"] = {name: numbers(np.concatenate(tables)) for name, tables in result["cells"].items()}
    result["point_data"] = {name: numbers(np.asarray(data)[kept]) for name, data in (point_data or {}).items()}
    for kind, source in (("cell_data", cell_data), ("tags", tags)):
        for name, data in (source or {}).items():
            by_set = {s: numbers(np.concatenate([data[i] for i in which])) for s, which in order.items()}
            result[kind][name] = by_set
    result["names"] = names or {}
    result["constants"] = {name: numbers(data) for name, data in (constants or {}).items()}
    return result


def case(name, form, values, by):
    """Notes a file, its form as `mesh info` prints it, and its expected values."""
    text = json.dumps(values, sort_keys=True)
    where = written.setdefault(text, name.replace(".", "-") + ".json")
    (HERE / where).write_text(text)
    cases.append({"file": name, "form": form, "expected": where, "read_by": by})


# ---- Gmsh ----------------------------------------------------------------------------------------------------------------


def begin():
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)


def plane():
    """Triangles and quadrangles side by side; a curve in two groups, one in none, and a point."""
    g = gmsh.model
    g.add("plane")
    p = [g.geo.addPoint(x, y, 0, 0.5) for x, y in [(0, 0), (1, 0), (1, 1), (0, 1), (2, 0), (2, 1)]]
    c = [g.geo.addLine(p[a], p[b]) for a, b in [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 2)]]
    left = g.geo.addPlaneSurface([g.geo.addCurveLoop(c[:4])])
    right = g.geo.addPlaneSurface([g.geo.addCurveLoop([c[4], c[5], c[6], -c[1]])])
    g.geo.mesh.setTransfiniteSurface(right)
    g.geo.mesh.setRecombine(2, right)
    g.geo.synchronize()
    g.addPhysicalGroup(2, [left], 11, "left")
    g.addPhysicalGroup(2, [right], 12, "right side")
    g.addPhysicalGroup(1, [c[3]], 5, "inflow")
    g.addPhysicalGroup(1, [c[3], c[0], c[4]], 7, "around \u00e4")
    g.addPhysicalGroup(1, [c[5]], 8)
    g.addPhysicalGroup(0, [p[0]], 3, "corner")
    g.mesh.setPeriodic(1, [c[6]], [c[4]], [1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1])
    g.mesh.generate(2)


def solids(second, incomplete=False):
    """One cell of each shape in space, with some of their sides and edges."""
    g = gmsh.model
    g.add("solids")
    places = [(x, y, z) for x in range(4) for y in range(2) for z in range(2)] + [(0.5, 0.5, 2), (4, 0, 0)]
    number = {place: index + 1 for index, place in enumerate(places)}
    at = lambda *places: [number[place] for place in places]
    box = at((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
    wedge = at((1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1), (2, 0, 1), (1, 1, 1))
    pyramid = box[4:] + at((0.5, 0.5, 2))
    tetra = at((3, 0, 0), (4, 0, 0), (3, 1, 0), (3, 0, 1))
    for dim in range(4):
        for tag in (1, 2):
            g.addDiscreteEntity(dim, tag)
    g.mesh.addNodes(3, 1, list(number.values()), [x for place in places for x in place])
    g.mesh.addElementsByType(1, 5, [1], box)
    g.mesh.addElementsByType(1, 6, [2], wedge)
    g.mesh.addElementsByType(1, 7, [3], pyramid)
    g.mesh.addElementsByType(2, 4, [4], tetra)
    g.mesh.addElementsByType(1, 2, [5, 6], wedge[:3] + tetra[:3])
    g.mesh.addElementsByType(2, 3, [7, 8], box[:4] + [box[0], box[1], box[5], box[4]])
    g.mesh.addElementsByType(1, 1, [9, 10], box[:2] + tetra[:2])
    g.mesh.addElementsByType(1, 15, [11], [box[0]])
    g.addPhysicalGroup(3, [1], 1, "body")
    g.addPhysicalGroup(2, [1], 2, "wall")
    g.addPhysicalGroup(2, [2], 3, "wall")
    g.addPhysicalGroup(1, [1], 2, "wall")
    if second:
        gmsh.option.setNumber("Mesh.SecondOrderIncomplete", int(incomplete))
        g.mesh.setOrder(2)


def all_physical(read):
    """meshio takes no file in which only some entities have a group: here those without one have the group 0."""
    def entities(*arguments):
        physical, bounding = read(*arguments)
        return tuple({tag: list(groups) or [0] for tag, groups in of.items()} for of in physical), bounding
    return entities


_gmsh41._read_entities = all_physical(_gmsh41._read_entities)


def by_blocks(split):
    """Of the blocks of version 2, meshio takes the length of the pair of type and table."""
    return lambda cells, raw: split([meshio.CellBlock(*cell) for cell in cells], raw)


_gmsh22.cell_data_from_raw = by_blocks(_gmsh22.cell_data_from_raw)


def meshio_gmsh(path):
    """What meshio reads; nothing if the file has partitions or parameters of nodes, which it does not know."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            mesh = meshio.gmsh.read(path)
    except (KeyError, meshio.ReadError):
        return None
    blocks = [(block.type, block.data) for block in mesh.cells]
    tags = {"physical": mesh.cell_data["gmsh:physical"], "entity": mesh.cell_data["gmsh:geometrical"]}
    data = {name: data for name, data in mesh.cell_data.items() if not name.startswith("gmsh:")}
    point_data = {name: data for name, data in mesh.point_data.items() if not name.startswith("gmsh:")}
    return mesh.points, blocks, point_data, data, {}, tags


def once(points, blocks, point_data, data, names, tags):
    """Version 2 lists an element once for each of its groups."""
    kept_blocks, kept = [], {"physical": [], "entity": [], "physical_2": []}
    for index, (kind, table) in enumerate(blocks):
        physical, entity = tags["physical"][index], tags["entity"][index]
        rows, groups = [], []
        for row in range(len(table)):
            if rows and (table[row] == table[rows[-1]]).all() and entity[row] == entity[rows[-1]]:
                groups[-1].append(physical[row])
            else:
                rows.append(row)
                groups.append([physical[row]])
        kept_blocks.append((kind, table[rows]))
        kept["physical"].append([group[0] for group in groups])
        kept["physical_2"].append([group[1] if len(group) > 1 else 0 for group in groups])
        kept["entity"].append(entity[rows])
    return points, kept_blocks, point_data, data, names, kept


def by_gmsh(path):
    """What Gmsh reads from a file."""
    begin()
    gmsh.open(str(path))
    g = gmsh.model
    places, numbers_of = [], []
    for dim, tag in g.getEntities():
        nodes, where, _ = g.mesh.getNodes(dim, tag)
        numbers_of += list(nodes)
        places += list(where.reshape(-1, 3))
    index = {int(number): place for place, number in enumerate(numbers_of)}
    kinds = {15: "vertex", 1: "line", 2: "triangle", 3: "quad", 4: "tetra", 5: "hexahedron", 6: "wedge", 7: "pyramid"}
    kinds |= {8: "line3", 9: "triangle6", 10: "quad9", 11: "tetra10", 12: "hexahedron27", 13: "wedge18", 14: "pyramid14"}
    kinds |= {16: "quad8", 17: "hexahedron20", 18: "wedge15", 19: "pyramid13"}
    blocks, tags = [], {"physical": [], "entity": [], "physical_2": []}
    for dim, tag in g.getEntities():
        # The elements of other partitions are listed in the section of their own entity too.
        if "Ghost" in g.getType(dim, tag):
            continue
        groups = [int(group) for group in g.getPhysicalGroupsForEntity(dim, tag)] + [0, 0]
        types, elements, nodes = g.mesh.getElements(dim, tag)
        for kind, listed, table in zip(types, elements, nodes):
            table = np.array([index[int(node)] for node in table]).reshape(len(listed), -1)
            blocks.append((kinds[kind], table))
            for name, value in (("physical", groups[0]), ("physical_2", groups[1]), ("entity", tag)):
                tags[name].append(np.full(len(listed), value))
    names = {f"{dim} {tag}": g.getPhysicalName(dim, tag) for dim, tag in g.getPhysicalGroups()}
    gmsh.finalize()
    return np.array(places), blocks, {}, {}, names, tags


def gmsh_case(name, form, version):
    path = HERE / name
    read = by_gmsh(path)
    names = {key: value for key, value in read[4].items() if value}
    other = meshio_gmsh(path)
    reader = "meshio" if other else "gmsh"
    if other:
        if version == 2:
            read = once(*other)
        else:
            # Gmsh knows all groups of an entity, meshio the first.
            assert [b[0] for b in read[1]] == [b[0] for b in other[1]], name
            tags = {key: other[5][key] for key in other[5]} | {"physical_2": read[5]["physical_2"]}
            read = (*other[:5], tags)
    tags = read[5]
    if not any(np.any(np.asarray(block)) for block in tags["physical_2"]):
        del tags["physical_2"]
    case(name, form, expected(read[0], read[1], read[2], read[3], names, tags), reader)


def gmsh_files():
    models = {
        "plane": plane, "solids": lambda: solids(False), "second": lambda: solids(True),
        "serendipity": lambda: solids(True, True),
    }
    # Gmsh writes 4.0 as text only; meshio writes it as bytes, below.
    for model, (version, binary) in itertools.product(models, [(2.2, 0), (2.2, 1), (4.0, 0), (4.1, 0), (4.1, 1)]):
        begin()
        models[model]()
        gmsh.option.setNumber("Mesh.MshFileVersion", version)
        gmsh.option.setNumber("Mesh.Binary", binary)
        # In version 2 an element is listed for each of its groups only if those without a group are left out.
        gmsh.option.setNumber("Mesh.SaveAll", int(version > 3))
        name = f"gmsh-{model}-{version}{'-binary' if binary else ''}.msh"
        gmsh.write(str(HERE / name))
        gmsh.finalize()
        gmsh_case(name, f"Gmsh {version}, {'binary, little endian' if binary else 'text'}", int(version))
    for version, binary in ((2.2, 0), (4.0, 0), (4.1, 0), (4.1, 1)):
        begin()
        plane()
        gmsh.option.setNumber("Mesh.MshFileVersion", version)
        gmsh.option.setNumber("Mesh.Binary", binary)
        gmsh.option.setNumber("Mesh.PartitionCreateGhostCells", 1)
        gmsh.model.mesh.partition(2)
        name = f"gmsh-parts-{version}{'-binary' if binary else ''}.msh"
        gmsh.write(str(HERE / name))
        gmsh.finalize()
        form = f"Gmsh {version}, {'binary, little endian' if binary else 'text'}"
        gmsh_case(name, form, int(version))
    begin()
    plane()
    gmsh.option.setNumber("Mesh.SaveParametric", 1)
    gmsh.option.setNumber("Mesh.SaveAll", 1)
    gmsh.write(str(HERE / "gmsh-parametric.msh"))
    gmsh.finalize()
    gmsh_case("gmsh-parametric.msh", "Gmsh 4.1, text", 4)


# ---- VTK -----------------------------------------------------------------------------------------------------------------

POINTS = np.array([[x, y, z] for z in range(3) for y in range(3) for x in range(3)], float) + 1 / 3
# VTK's number of a type, and a cell of points in three layers of three rows of three.
FIRST = [
    (1, [26]), (3, [0, 1]), (5, [0, 1, 3]), (9, [0, 1, 4, 3]), (10, [9, 10, 12, 18]),
    (12, [0, 1, 4, 3, 9, 10, 13, 12]), (13, [3, 4, 6, 12, 13, 15]),
    (14, [9, 10, 13, 12, 22]), (5, [1, 4, 3]),
]
# meshio knows no pixels and voxels.
ROWS = [(8, [1, 2, 4, 5]), *FIRST[3:6], (11, [1, 2, 4, 5, 10, 11, 13, 14])]
MESHIO = {1: "vertex", 3: "line", 5: "triangle", 9: "quad", 8: "pixel", 10: "tetra", 12: "hexahedron", 11: "voxel",
          13: "wedge", 14: "pyramid", 21: "line3", 22: "triangle6", 23: "quad8", 24: "tetra10", 25: "hexahedron20",
          26: "wedge15", 27: "pyramid13", 28: "quad9", 29: "hexahedron27", 30: "quad6", 31: "wedge12", 32: "wedge18",
          33: "hexahedron24", 34: "triangle7", 35: "line4", 37: "pyramid19", 68: "VTK_LAGRANGE_CURVE",
          69: "VTK_LAGRANGE_TRIANGLE", 70: "VTK_LAGRANGE_QUADRILATERAL", 71: "VTK_LAGRANGE_TETRAHEDRON",
          72: "VTK_LAGRANGE_HEXAHEDRON", 73: "VTK_LAGRANGE_WEDGE", 74: "VTK_LAGRANGE_PYRAMID"}
TYPES = {"Float32": np.float32, "Float64": np.float64, "Int8": np.int8, "Int16": np.int16, "Int32": np.int32,
         "Int64": np.int64, "UInt8": np.uint8, "UInt16": np.uint16, "UInt32": np.uint32, "UInt64": np.uint64}


def array_of(name, values):
    array = numpy_to_vtk(np.ascontiguousarray(values), deep=True)
    array.SetName(name)
    return array


def grid_of(points, cells, many=True):
    grid = vtk.vtkUnstructuredGrid()
    places = vtk.vtkPoints()
    places.SetDataTypeToDouble()
    for place in points:
        places.InsertNextPoint(*place)
    grid.SetPoints(places)
    for kind, corners in cells:
        grid.InsertNextCell(kind, len(corners), corners)
    if many:
        for index, (name, kind) in enumerate(TYPES.items()):
            low = np.iinfo(kind).min if kind(0).dtype.kind == "i" else 0
            point = (np.arange(len(points)) + low).astype(kind)
            cell = np.outer(np.arange(len(cells)) + 1, [1, 2, 3]) + 1 / 7
            if index % 2 == 0:
                grid.GetPointData().AddArray(array_of(name, point if kind(0).dtype.kind != "f" else point / kind(3)))
            else:
                grid.GetCellData().AddArray(array_of(name, cell.astype(kind)))
        grid.GetPointData().SetScalars(grid.GetPointData().GetArray("Float32"))
        grid.GetFieldData().AddArray(array_of("gam", np.array([1.4])))
    return grid


def read_by_vtk(path):
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    grid = reader.GetOutput()
    points = vtk_to_numpy(grid.GetPoints().GetData())
    blocks = []
    for index in range(grid.GetNumberOfCells()):
        cell = grid.GetCell(index)
        ids = [cell.GetPointId(i) for i in range(cell.GetNumberOfPoints())]
        blocks.append((MESHIO[grid.GetCellType(index)], np.array([ids])))
    of = lambda data: {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays()) if data.GetArray(i)}
    cells = {name: [values[i : i + 1] for i in range(len(values))] for name, values in of(grid.GetCellData()).items()}
    return points, blocks, of(grid.GetPointData()), cells, {}, {}, of(grid.GetFieldData())


def read_by_meshio(path):
    mesh = meshio.read(path)
    # meshio turns prisms over, as older versions of VTK had them. The faces of today's `vtkWedge` have Gmsh's order.
    order = {"wedge": [0, 2, 1, 3, 5, 4]}
    blocks = [(b.type, b.data[:, order[b.type]] if b.type in order else b.data) for b in mesh.cells]
    constants = {name: np.asarray(value) for name, value in mesh.field_data.items()}
    return mesh.points, blocks, mesh.point_data, mesh.cell_data, {}, {}, constants


def vtu_case(name, form):
    """meshio takes the last piece for all of them, and knows neither LZ4 nor some of VTK's types."""
    values, by = expected(*read_by_vtk(HERE / name)), "vtk"
    if name not in ("vtk-parts.vtu", "vtk-second.vtu", "vtk-lagrange.vtu") and "lz4" not in name:
        assert expected(*read_by_meshio(HERE / name)) == values, name
        by = "meshio"
    case(name, form, values, by)


def vtu_files():
    writer_modes = {"ascii": "text", "base64": "base64", "appended": "appended base64", "raw": "appended raw"}
    compressors = {"": None, "zlib": vtk.vtkZLibDataCompressor, "lz4": vtk.vtkLZ4DataCompressor, "lzma": vtk.vtkLZMADataCompressor}
    grid = grid_of(POINTS, FIRST)

    def write(name, grid, mode="raw", compressor="", wide=False, big=False, pieces=1):
        writer = vtk.vtkXMLUnstructuredGridWriter()
        writer.SetFileName(str(HERE / name))
        writer.SetInputData(grid)
        {"ascii": writer.SetDataModeToAscii, "base64": writer.SetDataModeToBinary}.get(mode, writer.SetDataModeToAppended)()
        writer.SetEncodeAppendedData(mode == "appended")
        writer.SetCompressor(compressors[compressor]() if compressor else None)
        # Several blocks for the larger arrays, the last of which is shorter.
        writer.SetBlockSize(64)
        (writer.SetHeaderTypeToUInt64 if wide else writer.SetHeaderTypeToUInt32)()
        (writer.SetByteOrderToBigEndian if big else writer.SetByteOrderToLittleEndian)()
        writer.SetNumberOfPieces(pieces)
        assert writer.Write() == 1
        text = (HERE / name).read_bytes()
        version = text.split(b'version="')[-1].split(b'"')[0].decode()
        form = f"VTK {version}, {writer_modes[mode]}"
        if mode != "ascii":
            form += f", {'big' if big else 'little'} endian, {64 if wide else 32}-bit headers"
        return form + (f", {compressor}" if compressor else "")

    forms = [("base64", False, True), ("base64", True, False), ("raw", False, False), ("raw", True, True)]
    forms += [("appended", False, False), ("appended", True, True)]
    combinations = [(mode, compressor, wide, big) for mode, wide, big in forms for compressor in compressors]
    for mode, compressor, wide, big in [("ascii", "", False, False), *combinations]:
        name = f"vtk-{mode}{'-' + compressor if compressor else ''}{'-64' if wide else ''}{'-big' if big else ''}.vtu"
        form = write(name, grid, mode, compressor, wide, big)
        vtu_case(name, form)
    # meshio knows no single bits; text has no place in a mesh.
    grid = grid_of(POINTS, ROWS, False)
    bits, words = vtk.vtkBitArray(), vtk.vtkStringArray()
    bits.SetName("bits")
    words.SetName("words")
    for index in range(len(POINTS)):
        bits.InsertNextValue(index % 3 == 0)
        words.InsertNextValue("text")
    grid.GetPointData().AddArray(bits)
    grid.GetPointData().AddArray(words)
    vtu_case("vtk-parts.vtu", write("vtk-parts.vtu", grid, pieces=3))
    for name, kinds in (("second", range(21, 38)), ("lagrange", range(68, 74))):
        cells, corners = [], 0
        for kind in kinds:
            count = {21: 3, 22: 6, 23: 8, 24: 10, 25: 20, 26: 15, 27: 13, 28: 9, 29: 27, 30: 6, 31: 12, 32: 18, 33: 24,
                     34: 7, 35: 4, 37: 19, 68: 4, 69: 10, 70: 9, 71: 20, 72: 27, 73: 18, 74: 14}.get(kind)
            if count:
                corners += 1
                cells.append((kind, [(corners + 4 * i) % 27 for i in range(count)] if count < 8 else list(range(count))))
        name = f"vtk-{name}.vtu"
        vtu_case(name, write(name, grid_of(POINTS, cells, False), "base64", "zlib"))


# ---- meshio --------------------------------------------------------------------------------------------------------------


def meshio_files():
    rows = np.arange(len(POINTS))
    blocks = [("triangle", [[0, 1, 3], [1, 4, 3]]), ("quad", [[1, 2, 5, 4]]), ("tetra", [[9, 10, 12, 18]])]
    many = meshio.Mesh(
        POINTS, [(kind, np.array(table)) for kind, table in blocks],
        point_data={"heat": rows / 7, "flow": np.outer(rows, [1, 0.1, 0.01])},
        cell_data={"load": [np.arange(len(table)) + 0.3 for _, table in blocks]},
    )
    load = many.cell_data["load"]
    entities = [[2, 1]] * 2 + [[2, 2]] * 2 + [[3, 1]] * (len(POINTS) - 4)
    for version, binary in itertools.product(("2.2", "4.0", "4.1"), (False, True)):
        many.point_data["gmsh:dim_tags"] = np.array(entities)
        many.cell_data["load"] = load
        for tag, numbers_of in (("gmsh:physical", (5, 6, 7)), ("gmsh:geometrical", (1, 2, 1))):
            many.cell_data[tag] = [np.full(len(table), number) for (_, table), number in zip(blocks, numbers_of)]
        if version == "4.0":
            # Data of cells count from 1 there, and the cells from 0.
            many.cell_data.pop("load", None)
            del many.point_data["gmsh:dim_tags"], many.cell_data["gmsh:physical"], many.cell_data["gmsh:geometrical"]
        name = f"meshio-{version}{'-binary' if binary else ''}.msh"
        with contextlib.redirect_stdout(io.StringIO()):
            meshio.gmsh.write(HERE / name, many, fmt_version=version, binary=binary)
        mesh = meshio.gmsh.read(HERE / name)
        tags = {"physical": mesh.cell_data.pop("gmsh:physical", None), "entity": mesh.cell_data.pop("gmsh:geometrical", None)}
        mesh.point_data.pop("gmsh:dim_tags", None)
        tags = {tag: of for tag, of in tags.items() if of}
        data = (mesh.points, [(b.type, b.data) for b in mesh.cells], mesh.point_data, mesh.cell_data, {}, tags)
        case(name, f"Gmsh {version}, {'binary, little endian' if binary else 'text'}", expected(*data), "meshio")
    many.cell_data = {"load": load}
    many.point_data.pop("gmsh:dim_tags")
    for binary, compression, header in [(False, None, None), (True, None, "UInt64"), (True, "zlib", None), (True, "lzma", "UInt64")]:
        name = f"meshio-{compression or ('base64' if binary else 'ascii')}.vtu"
        with contextlib.redirect_stdout(io.StringIO()):
            meshio.vtu.write(HERE / name, many, binary=binary, compression=compression, header_type=header)
        form = "VTK 0.1, " + (f"base64, little endian, {header[4:] if header else 32}-bit headers" if binary else "text")
        vtu_case(name, form + (f", {compression}" if compression else ""))


if __name__ == "__main__":
    for old in HERE.iterdir():
        if old.suffix in (".msh", ".vtu", ".json"):
            old.unlink()
    gmsh_files()
    vtu_files()
    meshio_files()
    (HERE / "cases.json").write_text(json.dumps(cases, indent=0, ensure_ascii=False) + "\n")
    print(len(cases), sum(path.stat().st_size for path in HERE.iterdir()))
