"""Import of Gazebo's SDF and ROS's URDF: links to one body, motor plug-ins to rotors, lift-drag plug-ins to panels.

SDF 1.5 to 1.11 as documented at sdformat.org; motor model and lift-drag plug-in of Gazebo Classic (PX4) and of gz-sim,
which share the names of their elements. Includes (`model://NAME`) are searched next to the model's folder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ironbird.errors import VehicleError
from ironbird.vehicles.imports.bodies import Mass, Pose, frd, frd_inertia, joined
from ironbird.vehicles.imports.draft import Draft, as_id
from ironbird.vehicles.imports.rotors import MulticopterParts, RotorPart, draft_multicopter
from ironbird.vehicles.imports.wings import WingParts, draft_fixed_wing
from ironbird.vehicles.imports.xml_file import as_number, number, numbers, read_xml

DEEPEST = 5  # limit for nested includes
KNOWN_PLUGINS = ("motor_model", "motor-model", "liftdrag", "lift-drag", "mavlink_interface")
HARMLESS_PLUGINS = (  # plug-ins that add no force
    "rosbag", "base_plugin", "forcevisual", "groundtruth", "joint-state", "joint_state", "odometry", "pose-publisher",
    "imu_plugin", "magnetometer", "barometer", "gps", "battery", "advanced", "joint-position", "apply-joint",
)  # fmt: skip


@dataclass
class Model:
    """Content of an SDF or URDF file, in its own axes."""

    name: str
    links: dict[str, Pose] = field(default_factory=dict)
    masses: dict[str, Mass] = field(default_factory=dict)
    boxes: list[tuple[Pose, np.ndarray]] = field(default_factory=list)  # collision boxes of the body, with sizes
    plugins: list[Element] = field(default_factory=list)
    sensors: list[str] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)  # rad, travel of joints
    missing: list[str] = field(default_factory=list)


def import_sdf(path: Path) -> Draft:
    """Import a vehicle from an SDF file."""
    root = read_xml(path)
    element = root if root.tag == "model" else root.find(".//model")
    if element is None:
        raise VehicleError(f"{path}: there is no <model>; give the model.sdf of one vehicle")
    model = Model(element.get("name") or path.stem)
    _read_model(element, path, Pose.of([0.0] * 6), model, 0)
    return _draft(model, path)


def _read_model(element: Element, path: Path, at: Pose, model: Model, depth: int) -> None:
    for include in element.findall("include"):
        uri = (include.findtext("uri") or "").strip()
        target = _included(uri, path)
        if target is None or depth >= DEEPEST:
            model.missing.append(f"the included model '{uri}' was not found beside this one")
            continue
        inner = read_xml(target).find(".//model")
        if inner is not None:
            pose = Pose.of(numbers(include.findtext("pose"), 6, f"{path}: pose of an include"))
            _read_model(inner, target, at @ pose, model, depth + 1)
    for inner in element.findall("model"):
        pose = Pose.of(numbers(inner.findtext("pose"), 6, f"{path}: pose of a model"))
        _read_model(inner, path, at @ pose, model, depth)
    raw = {link.get("name", ""): link for link in element.findall("link")}
    for name in raw:
        model.links[name] = at @ _link_pose(name, raw, path, 0)
    for name, link in raw.items():
        _read_link(link, name, model, path)
    for joint in element.findall("joint"):
        limit = joint.find("axis/limit/upper")
        if limit is not None and limit.text and abs(as_number(limit.text, f"{path}: limit of a joint")) < 10.0:
            model.limits[joint.get("name", "")] = as_number(limit.text, f"{path}: limit of a joint")
    model.plugins += element.findall("plugin")


def _included(uri: str, path: Path) -> Path | None:
    """File of an included model next to this model's folder; None for a path outside of it."""
    name = uri.rsplit("/", 1)[-1] if uri.startswith(("model://", "https://")) else ""
    if not name or name.startswith("."):
        return None
    folder = path.resolve().parent.parent / name
    choices = [folder / "model.sdf", folder / f"{name}.sdf"]
    return next((file for file in choices if file.is_file()), None)


def _link_pose(name: str, raw: dict[str, Element], path: Path, depth: int) -> Pose:
    element = raw[name].find("pose")
    if element is None:
        return Pose.of([0.0] * 6)
    pose = Pose.of(numbers(element.text, 6, f"{path}: pose of link '{name}'"))
    base = element.get("relative_to", "")
    if base in raw and base != name and depth < len(raw):
        return _link_pose(base, raw, path, depth + 1) @ pose
    return pose


def _read_link(link: Element, name: str, model: Model, path: Path) -> None:
    at, inertial = model.links[name], link.find("inertial")
    if inertial is not None:
        own = Pose.of(numbers(inertial.findtext("pose"), 6, f"{path}: inertial of link '{name}'"))
        model.masses[name] = _mass(at @ own, inertial, f"{path}: inertial of link '{name}'")
    for collision in link.findall("collision"):
        size = collision.findtext("geometry/box/size")
        if size:
            own = Pose.of(numbers(collision.findtext("pose"), 6, f"{path}: collision of link '{name}'"))
            model.boxes.append((at @ own, np.array(numbers(size, 3, f"{path}: size of a box"))))
    model.sensors += [sensor.get("type", "?") for sensor in link.findall("sensor")]


def _mass(at: Pose, inertial: Element, where: str) -> Mass:
    inertia = inertial.find("inertia")
    values = [number(inertia, tag, 0.0, where) if inertia is not None else 0.0 for tag in _ENTRIES]
    return Mass(number(inertial, "mass", None, where), at.origin, at.turn @ _matrix(values) @ at.turn.T)


_ENTRIES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def _matrix(values: list[float]) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = values
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# ---------------------------------------------------------------------- URDF


def import_urdf(path: Path) -> Draft:
    """Import a vehicle from a URDF file; rotors and wings are the plug-ins in its <gazebo> elements."""
    root = read_xml(path)
    if root.tag != "robot":
        raise VehicleError(f"{path}: its root is <{root.tag}>, not <robot>; xacro files must be expanded first")
    model = Model(root.get("name") or path.stem)
    raw = {link.get("name", ""): link for link in root.findall("link")}
    joints: dict[str, tuple[str, Pose]] = {}
    for joint in root.findall("joint"):
        name = joint.get("name", "")
        parent, child = joint.find("parent"), joint.find("child")
        if parent is None or child is None:
            raise VehicleError(f"{path}: joint '{name}' has no parent or no child")
        joints[child.get("link", "")] = (parent.get("link", ""), _urdf_pose(joint.find("origin"), f"joint '{name}'"))
        limit = joint.find("limit")
        if limit is not None and limit.get("upper"):
            model.limits[name] = as_number(limit.get("upper", "0"), f"{path}: limit of joint '{name}'")
    for name, link in raw.items():
        pose, up, count = Pose.of([0.0] * 6), name, 0
        while up in joints:
            up, own = joints[up]
            pose, count = own @ pose, count + 1
            if count > len(joints):
                raise VehicleError(f"{path}: its joints go round in a circle at link '{name}'")
        model.links[name] = pose
        inertial = link.find("inertial")
        if inertial is not None:
            model.masses[name] = _urdf_mass(pose, inertial, f"{path}: inertial of link '{name}'")
        for collision in link.findall("collision"):
            box = collision.find("geometry/box")
            if box is not None:
                own = _urdf_pose(collision.find("origin"), f"collision of '{name}'")
                model.boxes.append((pose @ own, np.array(numbers(box.get("size"), 3, f"{path}: size of a box"))))
    for extra in root.findall("gazebo"):
        model.plugins += extra.findall("plugin")
        model.sensors += [sensor.get("type", "?") for sensor in extra.findall("sensor")]
    return _draft(model, path)


def _urdf_pose(origin: Element | None, where: str) -> Pose:
    if origin is None:
        return Pose.of([0.0] * 6)
    return Pose.of([*numbers(origin.get("xyz"), 3, where), *numbers(origin.get("rpy"), 3, where)])


def _urdf_mass(at: Pose, inertial: Element, where: str) -> Mass:
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is None:
        raise VehicleError(f"{where}: <mass> is missing")
    at = at @ _urdf_pose(inertial.find("origin"), where)
    values = [as_number(inertia.get(tag, "0"), where) if inertia is not None else 0.0 for tag in _ENTRIES]
    kg = as_number(mass.get("value", ""), where)
    return Mass(kg, at.origin, at.turn @ _matrix(values) @ at.turn.T)


# ---------------------------------------------------------------------- common to both


def _named(plugin: Element) -> str:
    return f"{plugin.get('filename', '')} {plugin.get('name', '')}".lower()


def _with(model: Model, *words: str) -> Iterator[Element]:
    return (p for p in model.plugins if any(word in p.get("filename", "").lower() for word in words))


def _draft(model: Model, path: Path) -> Draft:
    masses = {name: mass for name, mass in model.masses.items() if mass.kg > 0}
    if not masses:
        raise VehicleError(f"{path}: no link has a mass")
    body = joined(list(masses.values()))
    channels = _channels(model)
    motors = list(_with(model, "motor_model", "motor-model"))
    panels = list(_with(model, "liftdrag", "lift-drag"))
    for plugin in model.plugins:
        name = _named(plugin)
        if not any(word in name for word in (*KNOWN_PLUGINS, *HARMLESS_PLUGINS)):
            model.missing.append(f"plug-in '{plugin.get('name', '')}' ({plugin.get('filename', '')})")
    kinds = sorted(set(model.sensors))
    if kinds:
        model.missing.append(
            f"sensors {', '.join(kinds)}: the reference autopilot's own product models stand in their place"
        )
    rotors = [_rotor(plugin, model, body, channels, path) for plugin in motors]
    lifting = [rotor for rotor, axis in rotors if abs(axis[2]) > 0.7]
    pulling = [(rotor, axis) for rotor, axis in rotors if abs(axis[2]) <= 0.7]
    source = path.name
    if panels and len(lifting) < 4 and len(pulling) == 1:
        return draft_fixed_wing(_wing(model, body, panels, motors[0], channels, path))
    if panels:
        model.missing.append(f"{len(panels)} lift-drag surfaces: only a plane with one propeller is given wings")
    if pulling:
        model.missing.append(f"{len(pulling)} rotors that do not lift: " + ", ".join(r.name for r, _ in pulling))
    parts = MulticopterParts(
        as_id(model.name), f"{model.name} (imported)", source, body.kg, lifting, frd_inertia(body.inertia)
    )
    parts.more["body.*"] = f"published: {source}, {len(masses)} links joined"
    _lowest(model, body, parts)
    parts.linear_drag_Nspm = _rotor_drag(motors, body.kg, path)
    down = {number(p, "timeConstantDown", 0.0) for p in motors} - {0.0}
    if down and down != {r.time_constant_s for r in lifting}:
        model.missing.append(f"time constants of slowing down, {', '.join(f'{v:g}' for v in sorted(down))} s: one acts")
    if any(number(p, "rollingMomentCoefficient", 0.0) for p in motors):
        model.missing.append("rollingMomentCoefficient of the rotors")
    parts.missing = model.missing
    return draft_multicopter(parts)


def _lowest(model: Model, body: Mass, parts: MulticopterParts) -> None:
    for pose, size in model.boxes:
        bottom = -(pose.origin[2] - size[2] / 2 - body.centre[2])
        if bottom > parts.bottom_B_m:
            parts.bottom_B_m = round(float(bottom), 6)
            parts.foot_B_m = (round(float(size[0]) / 2, 6), round(float(size[1]) / 2, 6))


def _channels(model: Model) -> dict[str, tuple[float, float, float]]:
    """Scale, offset and speed at zero of each joint's command, from the MAVLink plug-in."""
    channels: dict[str, tuple[float, float, float]] = {}
    for plugin in _with(model, "mavlink_interface"):
        for channel in plugin.iter("channel"):
            values = [number(channel, tag, 0.0) for tag in ("input_scaling", "input_offset", "zero_position_armed")]
            channels[f"#{channel.findtext('input_index', '').strip()}"] = (values[0], values[1], values[2])
            if joint := channel.findtext("joint_name"):
                channels[joint.strip().rsplit("::")[-1]] = (values[0], values[1], values[2])
    return channels


def _rotor(
    plugin: Element, model: Model, body: Mass, channels: dict[str, tuple[float, float, float]], path: Path
) -> tuple[RotorPart, np.ndarray]:
    where = f"{path}: motor '{plugin.get('name', '')}'"
    link = (plugin.findtext("linkName") or "").strip()
    if link not in model.links:
        raise VehicleError(f"{where}: there is no link '{link}'")
    pose = model.links[link]
    axis = frd(pose.turn @ np.array([0.0, 0.0, 1.0]))
    constant, ratio = number(plugin, "motorConstant", None, where), number(plugin, "momentConstant", None, where)
    top = number(plugin, "maxRotVelocity", 838.0, where)  # the plug-in's own default
    joint, index = (plugin.findtext("jointName") or "").strip(), (plugin.findtext("motorNumber") or "").strip()
    scale, offset, zero = channels.get(joint) or channels.get(f"#{index}") or (0.0, 0.0, 0.0)
    idle = zero + scale * offset
    if scale > 0:
        top = min(top, idle + scale)
    spin = (plugin.findtext("turningDirection") or "ccw").strip()
    if spin not in ("ccw", "cw"):
        raise VehicleError(f"{where}: turningDirection '{spin}' is not ccw or cw")
    slow = number(plugin, "rotorVelocitySlowdownSim", 1.0, where)
    mass = model.masses.get(link)
    rotor = RotorPart(
        name=as_id(plugin.get("name", "").removesuffix("_motor_model") or link),
        position_B_m=frd(pose.origin - body.centre).tolist(),
        spin=spin,
        thrust_Ns2=constant,
        torque_Nms2=constant * ratio,
        top_radps=top,
        idle_radps=idle,
        time_constant_s=number(plugin, "timeConstantUp", 0.0, where),
        # The link turns slower by the plug-in's factor, so the momentum that the simulation has is less by it
        inertia_kgm2=float(np.trace(mass.inertia) / 2 / slow) if mass is not None else 0.0,
        axis_B=[round(float(v), 9) + 0.0 for v in axis],
    )
    return rotor, axis


def _rotor_drag(motors: list[Element], mass_kg: float, path: Path) -> float:
    """Total drag coefficient of the rotors in hover (N per m/s): sum of coefficient times rotor speed."""
    constants = [number(p, "motorConstant", None, str(path)) for p in motors]
    if not sum(constants) > 0:
        raise VehicleError(f"{path}: the motors give no thrust")
    hover = math.sqrt(mass_kg * 9.80665 / sum(constants))
    return float(sum(number(p, "rotorDragCoefficient", 0.0) for p in motors) * hover)


def _wing(
    model: Model,
    body: Mass,
    panels: list[Element],
    motor: Element,
    channels: dict[str, tuple[float, float, float]],
    path: Path,
) -> WingParts:
    rotor, _ = _rotor(motor, model, body, channels, path)
    tables: dict[str, dict[str, Any]] = {}
    surfaces: dict[str, list[float]] = {}
    for plugin in panels:
        name = as_id(plugin.get("name", "panel"))
        where = f"{path}: surface '{name}'"
        link = (plugin.findtext("link_name") or "").strip()
        pose = model.links.get(link) or Pose.of([0.0] * 6)
        centre = pose.origin + pose.turn @ np.array(numbers(plugin.findtext("cp"), 3, where)) - body.centre
        upward = numbers(plugin.findtext("upward") or "0 0 1", 3, where)
        table: dict[str, Any] = {
            "area_m2": number(plugin, "area", None, where),
            "position_B_m": [round(float(v), 9) for v in frd(centre)],
            "a0_rad": number(plugin, "a0", 0.0, where),
            "cla": number(plugin, "cla", 1.0, where),
            "cda": number(plugin, "cda", 0.01, where),
            "alpha_stall_rad": number(plugin, "alpha_stall", math.pi / 2, where),
            "cla_stall": number(plugin, "cla_stall", 0.0, where),
            "cda_stall": number(plugin, "cda_stall", 1.0, where),
        }
        up = frd(np.array(upward))
        if abs(up[2] + 1.0) > 1e-9:
            table["upward_B"] = [round(float(v), 9) for v in up]
        joint = (plugin.findtext("control_joint_name") or "").strip().rsplit("::")[-1]
        gain = number(plugin, "control_joint_rad_to_cl", 0.0, where)
        if joint and gain:
            table["control_joint_rad_to_cl"] = gain
            surface = as_id(joint.removesuffix("_joint"))
            share = _share(surface, gain)
            if share is None:
                model.missing.append(
                    f"joint '{joint}' of surface '{name}': whether it rolls, pitches or yaws is not given"
                )
            else:
                table["surface"] = surface
                surfaces[surface] = share
        tables[name] = table
    density = {number(p, "air_density", 1.2041) for p in panels}
    if len(density) > 1 or density != {1.2041}:
        model.missing.append("air_density of the surfaces: the standard atmosphere acts")
    top = min(number(motor, "maxRotVelocity", 838.0), rotor.top_radps)
    parts = WingParts(
        as_id(model.name), f"{model.name} (imported)", path.name, body.kg, frd_inertia(body.inertia), tables, surfaces,
        {
            "top_speed_radps": top, "time_constant_s": rotor.time_constant_s or 0.0125,
            "motor_constant_Ns2": rotor.thrust_Ns2, "moment_constant_m": number(motor, "momentConstant", 0.0),
            "drag_coefficient_Ns2pm": number(motor, "rotorDragCoefficient", 0.0), "no_thrust_speed_mps": 25.0,
            "position_B_m": rotor.position_B_m,
        },
        travel_rad=min((v for v in model.limits.values() if v > 0.01), default=0.53), missing=model.missing,
    )  # fmt: skip
    parts.bottom_B_m, parts.foot_B_m = 0.0, (0.0, 0.0)
    for pose, size in model.boxes:
        bottom = float(-(pose.origin[2] - size[2] / 2 - body.centre[2]))
        if bottom > parts.bottom_B_m:
            parts.bottom_B_m, parts.foot_B_m = round(bottom, 6), (float(size[0]) / 2, float(size[1]) / 2)
    return parts


def _share(surface: str, gain: float) -> list[float] | None:
    """Shares of aileron, elevator and rudder in a joint's command, from its name; positive commands roll right, pitch
    up.

    With a negative gain a positive joint angle takes lift away, as in PX4's models.
    """
    sign = -1.0 if gain < 0 else 1.0
    if any(word in surface for word in ("aileron", "elevon")):
        left = "left" in surface or surface.endswith("_l")
        return [-1.0 if left else 1.0, 0.0, 0.0] if sign < 0 else [1.0 if left else -1.0, 0.0, 0.0]
    if "elevator" in surface:
        return [0.0, sign, 0.0]
    if "rudder" in surface:
        return [0.0, 0.0, -sign]
    return None
