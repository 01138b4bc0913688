"""The Aerosonde's airframe against JSBSim: the same coefficients, elevator and aileron steps from the same glide."""

from __future__ import annotations

import functools
from pathlib import Path

import jsbsim
import numpy as np
import pytest

from ironbird.analysis.operating_point import OperatingPoint
from ironbird.analysis.trim import trim
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.fixed_wing import SURFACES, FixedWingSpec, add_aerodynamics
from ironbird.vehicles.templates.surroundings import add_body, add_environment

FOOT, SPEED = 0.3048, 25.0
# JSBSim's standard model at the equator (checked below), and what the turning earth takes off
ATTRACTION, CENTRIFUGAL = 9.797978, 7.292115e-5**2 * 6378237.0
GRAVITY = ATTRACTION - CENTRIFUGAL
LATITUDE_DEG, HEIGHT_M, UNTIL_S = 0.0, 100.0, 8.0
NEVER = 1.5  # rad: stall angle that leaves the linear range alone
STEPS = {"elevator": 0.02, "aileron": 0.02}  # rad


def aerosonde() -> FixedWingSpec:
    spec = load_spec("aerosonde")
    assert isinstance(spec, FixedWingSpec) and spec.wing is not None
    environment = spec.environment.model_copy(update={"gravity": GRAVITY, "slow_sample_s": 0.01})
    home = spec.home.model_copy(update={"height_m": 0.0})
    wing = spec.wing.model_copy(update={"stall_angle_rad": NEVER})
    return spec.model_copy(update={"environment": environment, "home": home, "wing": wing})


@functools.cache
def airframe() -> CompiledModel:
    """Body and wing in the standard atmosphere, propeller without blades; the surfaces are inputs."""
    spec = aerosonde()
    diagram = Diagram("aerosonde_glider")
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=spec.body.mass_kg, inertia_kgm2=spec.body.inertia_kgm2,
        height_above_home_m=HEIGHT_M,
    )  # fmt: skip
    parts = add_environment(diagram, body, spec.home, spec.environment)
    aero, propeller = add_aerodynamics(diagram, spec, body, parts["air"])
    diagram.connect(parts["atmosphere"].density, aero["wing"].density, propeller.density)
    diagram.set("rotor/1/propeller.blade_health", 0.0)
    for name in SURFACES:
        diagram.export(aero["wing"][name], name)
    diagram.export(propeller.throttle, "throttle")
    return compile_model(diagram)


@functools.cache
def glide() -> OperatingPoint:
    return trim(
        airframe(), inputs=SURFACES, hold={"body.p": [0.0, 0.0, -HEIGHT_M]}, moving=["body.p"],
        require={
            "air.airspeed": SPEED, "body.v_NB_B": [np.nan, 0.0, np.nan], "body.euler": [np.nan, np.nan, 0.0],
        },
        guess={"body.v": [SPEED, 0.0, 1.0], "throttle": 0.0},
    )  # fmt: skip


def ours(surface: str) -> dict[str, np.ndarray]:
    point = glide()
    state = start(airframe())
    for path in ("body.p", "body.v", "body.q", "body.w"):
        state.set_state(path, point[path])
    for name in SURFACES:
        state.set_input(name, float(point[name][0]) + (STEPS[surface] if name == surface else 0.0))
    state.set_input("throttle", 0.0)
    log = run(state, UNTIL_S, log_s=0.02)
    return {
        "alpha": log["wing.alpha"].ravel(), "beta": log["wing.beta"].ravel(), "airspeed": log["air.airspeed"].ravel(),
        **{name: log["body.w_NB_B"][:, i] for i, name in enumerate("pqr")},
        **{name: log["body.euler"][:, i] for i, name in enumerate(("roll", "pitch", "yaw"))},
    }  # fmt: skip


def _terms(*terms: tuple[float, str]) -> str:
    """A sum of coefficients times properties; an empty property is 1."""
    inner = "".join(
        f"<product><value>{value!r}</value>{''.join(f'<property>{p}</property>' for p in name.split())}</product>"
        for value, name in terms
    )  # fmt: skip
    return f"<sum>{inner}<value>0.0</value></sum>"


def aircraft_xml(spec: FixedWingSpec) -> str:
    """The airframe in JSBSim's words; forces in body axes as the coefficients mean them."""
    w = spec.wing
    assert w is not None
    inertia = spec.body.inertia_kgm2
    alpha, beta = "aero/alpha-rad", "aero/beta-rad"
    de, da, dr = (f"fcs/{name}-pos-rad" for name in ("elevator", "left-aileron", "rudder"))
    p, q, r = (f"velocities/{x}-aero-rad_sec" for x in "pqr")
    b, c = "aero/bi2vel", "aero/ci2vel"
    lift = _terms((w.CL_0, ""), (w.CL_alpha, alpha), (w.CL_q, f"{c} {q}"), (w.CL_elevator, de))
    linear = _terms((w.CL_0, ""), (w.CL_alpha, alpha))
    induced = 1 / (np.pi * w.oswald * w.span_m**2 / w.area_m2)
    drag = (
        f"<sum><value>{w.CD_p!r}</value><product><value>{induced!r}</value>{linear}{linear}</product>"
        f"{_terms((w.CD_elevator, de))}</sum>"
    )
    pitching = _terms((w.Cm_0, ""), (w.Cm_alpha, alpha), (w.Cm_q, f"{c} {q}"), (w.Cm_elevator, de))

    def lateral(name: str) -> str:
        values = {key: float(getattr(w, f"{name}_{key}")) for key in ("0", "beta", "p", "r", "aileron", "rudder")}
        return _terms(
            (values["0"], ""), (values["beta"], beta), (values["p"], f"{b} {p}"), (values["r"], f"{b} {r}"),
            (values["aileron"], da), (values["rudder"], dr),
        )  # fmt: skip

    pressure = "<property>aero/qbar-psf</property><property>metrics/Sw-sqft</property>"
    span, chord = "<property>metrics/bw-ft</property>", "<property>metrics/cbarw-ft</property>"
    cosine, sine = (f"<{f}><property>{alpha}</property></{f}>" for f in ("cos", "sin"))
    x = f"<difference><product>{lift}{sine}</product><product>{drag}{cosine}</product></difference>"
    z = f"<sum><product>{lift}{cosine}</product><product>{drag}{sine}</product></sum>"

    def axis(name: str, *factors: str) -> str:
        product = f"<product>{pressure}{''.join(factors)}</product>"
        return f'<axis name="{name}"><function name="aero/{name.lower()}">{product}</function></axis>'

    place = '<location name="{}" unit="M"><x>0</x><y>0</y><z>0</z></location>'
    return f"""<?xml version="1.0"?>
<fdm_config name="glider" version="2.0" release="BETA">
 <fileheader><author>test</author><filecreationdate>2026-01-01</filecreationdate><version>1</version></fileheader>
 <metrics><wingarea unit="M2">{w.area_m2}</wingarea><wingspan unit="M">{w.span_m}</wingspan>
  <chord unit="M">{w.chord_m}</chord>{place.format("AERORP")}{place.format("EYEPOINT")}{place.format("VRP")}</metrics>
 <mass_balance negated_crossproduct_inertia="false">
  <ixx unit="KG*M2">{inertia[0][0]}</ixx><iyy unit="KG*M2">{inertia[1][1]}</iyy>
  <izz unit="KG*M2">{inertia[2][2]}</izz><ixz unit="KG*M2">{-inertia[0][2]}</ixz>
  <emptywt unit="KG">{spec.body.mass_kg}</emptywt>{place.format("CG")}</mass_balance>
 <ground_reactions/><propulsion/><flight_control name="none"/>
 <aerodynamics>
  {axis("X", x)}{axis("Y", lateral("CY"))}{axis("Z", "<value>-1.0</value>", z)}
  {axis("ROLL", span, lateral("Cl"))}{axis("PITCH", chord, pitching)}{axis("YAW", span, lateral("Cn"))}
 </aerodynamics>
</fdm_config>"""


def theirs(folder: Path, surface: str) -> dict[str, np.ndarray]:
    home = folder / "aircraft" / "glider"
    home.mkdir(parents=True)
    (home / "glider.xml").write_text(aircraft_xml(aerosonde()))
    fdm = jsbsim.FGFDMExec(str(folder))
    fdm.set_debug_level(0)
    fdm.set_dt(0.002)
    assert fdm.load_model("glider")
    point = glide()
    fdm["simulation/gravity-model"] = 0  # the same everywhere but for the height
    v = point["body.v"] / FOOT
    roll, pitch, yaw = point["body.euler"]
    for name, value in (
        ("lat-geod-deg", LATITUDE_DEG), ("long-gc-deg", 0.0), ("h-sl-ft", HEIGHT_M / FOOT), ("u-fps", v[0]),
        ("v-fps", v[1]), ("w-fps", v[2]), ("phi-rad", roll), ("theta-rad", pitch), ("psi-true-rad", yaw),
    ):  # fmt: skip
        fdm[f"ic/{name}"] = float(value)
    for name, place in (("elevator", "elevator"), ("aileron", "left-aileron"), ("rudder", "rudder")):
        fdm[f"fcs/{place}-pos-rad"] = float(point[name][0]) + (STEPS[surface] if name == surface else 0.0)
    assert fdm.run_ic()
    assert fdm["accelerations/gravity-ft_sec2"] * FOOT == pytest.approx(ATTRACTION, abs=1e-6)
    names = {
        "alpha": "aero/alpha-rad", "beta": "aero/beta-rad", "airspeed": "velocities/vt-fps",
        "p": "velocities/p-rad_sec", "q": "velocities/q-rad_sec", "r": "velocities/r-rad_sec",
        "roll": "attitude/phi-rad", "pitch": "attitude/theta-rad", "yaw": "attitude/psi-rad",
    }  # fmt: skip
    rows = {name: [fdm[path]] for name, path in names.items()}
    for tick in range(round(UNTIL_S / 0.002)):
        fdm.run()
        if tick % 10 == 9:
            for name, path in names.items():
                rows[name].append(fdm[path])
    found = {name: np.array(values) for name, values in rows.items()}
    found["airspeed"] *= FOOT
    found["yaw"] = (found["yaw"] + np.pi) % (2 * np.pi) - np.pi
    return found


# Greatest differences allowed, some three times those found (rad, rad/s, m/s): the roll reaches 1 rad, the airspeed
# changes by 7 m/s. JSBSim turns with the earth; rates differ most in the first samples, where its steps are simpler.
ALLOWED = {
    "alpha": 1.5e-4, "beta": 5e-5, "airspeed": 0.015, "p": 3e-3, "q": 2e-3, "r": 3e-4, "roll": 3e-4, "pitch": 6e-4,
    "yaw": 5e-4,
}  # fmt: skip


@pytest.mark.parametrize("surface", list(STEPS))
def test_response_to_a_step_is_jsbsims(surface: str, tmp_path: Path) -> None:
    mine, other = ours(surface), theirs(tmp_path, surface)

    main = {"elevator": ("q", 0.05), "aileron": ("p", 0.1)}[surface]
    assert np.abs(other[main[0]]).max() > main[1]  # rad/s: the step is seen
    for name, allowed in ALLOWED.items():
        count = min(len(mine[name]), len(other[name]))
        gap = np.abs(mine[name][:count] - other[name][:count]).max()
        assert gap < allowed, f"{name}: {gap:.3g} of at most {np.abs(other[name]).max():.3g}"
