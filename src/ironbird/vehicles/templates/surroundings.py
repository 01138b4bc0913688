"""Parts shared by every vehicle: body, earth, air and ground (S_body and S_env of [Dai] Eq. 4)."""

from __future__ import annotations

from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.bodies.rigid_body_wgs84 import RigidBodyWgs84
from ironbird.blocks.environment.air_data import AirData
from ironbird.blocks.environment.atmosphere_isa import AtmosphereIsa
from ironbird.blocks.environment.gravity import GravityUniform, GravityWgs84
from ironbird.blocks.environment.magnetic_wmm import MagneticWmm, local_field
from ironbird.blocks.environment.terrain import Terrain
from ironbird.blocks.environment.wind_dryden import WindDryden
from ironbird.blocks.environment.wind_gust import WindGust
from ironbird.blocks.environment.wind_shear import WindShear
from ironbird.blocks.environment.wind_steady import WindSteady
from ironbird.model.diagram import Diagram, Handle
from ironbird.model.signal import Number
from ironbird.vehicles import places as at
from ironbird.vehicles.spec import Environment, Home


def home_params(home: Home) -> dict[str, Number]:
    """Take-off point as parameters of bodies on a flat earth."""
    return {"home_latitude": home.latitude_rad, "home_longitude": home.longitude_rad, "home_height": home.height_m}


def add_body(
    diagram: Diagram,
    home: Home,
    environment: Environment,
    *,
    mass_kg: float,
    inertia_kgm2: list[list[float]],
    height_above_home_m: float,
) -> Handle:
    """Add the rigid body, at rest at the take-off point, level, on the flat or rotating earth."""
    if environment.earth == "wgs84":
        start = RigidBodyWgs84.initial(
            latitude=home.latitude_rad, longitude=home.longitude_rad, height=home.height_m + height_above_home_m
        )
        start["home_height"] = home.height_m  # type: ignore[assignment]
        return diagram.add(at.BODY.path, RigidBodyWgs84(), mass=mass_kg, inertia=inertia_kgm2, **start)
    place = {"p_0": [0.0, 0.0, -height_above_home_m], **home_params(home)}
    return diagram.add(at.BODY.path, RigidBody(), mass=mass_kg, inertia=inertia_kgm2, **place)


def add_environment(diagram: Diagram, body: Handle, home: Home, environment: Environment) -> dict[str, Handle]:
    """Add gravity, atmosphere, magnetic field, terrain, the four parts of the wind, and motion through the air."""
    slow, windy = environment.slow_sample_s, environment.wind_sample_s
    parts: dict[str, Handle] = {}
    if environment.gravity == "wgs84":
        # On the rotating earth the body needs gravity at its position; on the flat earth a slow update is enough.
        sample = None if environment.earth == "wgs84" else slow
        gravity = diagram.add(at.GRAVITY.path, GravityWgs84(sample_s=sample))
        diagram.connect(body.latitude, gravity.latitude)
        diagram.connect(body.height, gravity.height)
    else:
        gravity = diagram.add(at.GRAVITY.path, GravityUniform(), acceleration=environment.gravity)
    diagram.connect(gravity.gravity_N, body.gravity_N)
    parts["gravity"] = gravity

    atmosphere = parts["atmosphere"] = diagram.add(at.ATMOSPHERE.path, AtmosphereIsa(sample_s=slow))
    diagram.connect(body.height, atmosphere.height)

    field = local_field(home.latitude_rad, home.longitude_rad, home.height_m, home.year)
    magnetic = parts["magnetic"] = diagram.add(at.MAGNETIC_FIELD.path, MagneticWmm(sample_s=slow), **field)
    diagram.connect(body.p_NB_N, magnetic.p_NB_N)

    terrain = parts["terrain"] = diagram.add(at.TERRAIN.path, Terrain(sample_s=environment.terrain_sample_s))
    diagram.connect(body.p_NB_N, terrain.p_NB_N)

    turning = environment.gust_span_m > 0
    air = parts["air"] = diagram.add(at.AIR.path, AirData(turning=turning))
    diagram.connect(body.v_NB_B, air.v_NB_B)
    diagram.connect(body.R_NB, air.R_NB)
    winds = [
        diagram.add(at.WIND_STEADY.path, WindSteady()),
        diagram.add(at.WIND_SHEAR.path, WindShear(sample_s=windy)),
        diagram.add(at.WIND_GUST.path, WindGust(sample_s=windy)),
        diagram.add(at.WIND_TURBULENCE.path, WindDryden(angular=turning, sample_s=windy)),
    ]
    if turning:
        diagram.set(at.WIND_TURBULENCE("span"), environment.gust_span_m)
        diagram.connect(winds[3].rates_N, air.rates_N)
        diagram.connect(body.w_NB_B, air.w_NB_B)
    for wind in winds:
        diagram.connect(wind.wind_N, air.wind_N)
        if "height_above_ground" in wind:
            diagram.connect(terrain.height_above_ground, wind.height_above_ground)
    diagram.connect(air.airspeed, winds[3].airspeed)
    return parts
