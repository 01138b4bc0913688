"""Error-state extended Kalman filter: attitude, velocity, position, slow errors of the sensors, and wind."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import casadi as ca

from ironbird.blocks.estimators.estimator_ports import EstimatorPorts
from ironbird.blocks.estimators.samples import (
    IMU_LOST_S,
    OLDEST_S,
    flag,
    from_rotation_vector,
    level_and_heading,
    next_age,
)
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.model.block import Values, View
from ironbird.model.signal import Clock, In, Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.smooth import clip

# Indices in the error state: attitude (in B), velocity, position, biases of gyro and accelerometer, slow errors of GNSS
# position, barometer and compass. After them, if enabled: slow error of GNSS velocity, wind.
TH, V, P, BG, BA, GW, BB, HB = 0, 3, 6, 9, 12, 15, 18, 19
ALWAYS = 20
GNSS_POSITION, GNSS_VELOCITY, MAG, BARO = range(4)  # groups of measurements, in the order of `rejected`

FUSE_S = 0.02  # s between two predictions of the covariance, after which measurements are fused
SLOTS = 10  # pseudo-measurements come every so many samples, or at the next fusion after them
FORGET = 1e4  # factor of the measurement's variance that a reset state gets before the update
NO_FIX_S = 1.0  # s; a barometer is re-zeroed instead of moving the height if GNSS height is at most this old
BARO_LOST_S = 0.5  # s; an older barometer sample is not used for the climb rate
CLIMB_RADPS, CLIMB_DAMPING = 1.5, 0.8  # of the observer that computes a climb rate from the barometer alone
MOST_STEP_M = 3.0  # m, largest innovation of one barometer sample in it
AGREED_SHARE = 0.4  # share of `reset_after`: two receivers that agree are more likely right than the estimate
FLOW_LOST_S = 0.5  # s; an older flow sample, or distance, is not used for the velocity
FLOW_FLOOR_MPS = 0.1  # lower bound for flow near the ground
MOVES_MPS = 3.0  # m/s; a faster receiver shows that the vehicle moves
MOTION_S = 0.6  # s over which an alignment in motion takes the change of GNSS velocity
MOTION_MPS2 = 1.5  # m/s^2; a smaller specific force gives no attitude: free fall
MOTION_SINE = 0.2  # of the angle between specific force and field, at least
MOTION_STD = (
    0.03,
    1.0,
    4.0,
)  # rad, m/s, m: before the fix of an alignment in motion is fused; of the field's direction
SMALLEST = 1e-6  # below every length in a division
SMALLEST_T = 1e-7  # a weaker horizontal field gives no heading
LARGEST = 1e9  # above every innovation


class ErrorStateEkf(EstimatorPorts):
    """Estimates position, velocity, attitude and sensor biases by an error-state Kalman filter with 20 to 25 states.
    Errors about a nominal state, the attitude error local in B, [Sola2017] ch. 5 to 7.

    Each sample predicts the nominal state from the last with the mean of the two inertial samples (trapezoid).
    Every FUSE_S the covariance follows, over the turn and the change of velocity since, and what is fresh is fused
    (a stamp other than the one fused last), component by component: a filter at 50 Hz under a predictor at the rate
    of the inertial samples, as PX4 and ArduPilot have it. All measurements of a fusion are linearised at its
    prediction and the correction is put into the nominal state once. Outputs are the prediction at this sample:
    they hold this sample's accelerometer and gyro, and the aiding sensors up to the fusion before. Inertial samples
    show what was `imu_delay` ago, and so does the state; outputs are carried on to the present.

    Alignment: level from the mean accelerometer, heading from the mean magnetometer and `field_0`; the covariance
    follows from an update with that mean, so that tilt and accelerometer bias are correlated as they are. GNSS: valid
    at `gnss_stamp - gnss_delay`; the present estimate is carried back along stored integrals of the measured
    acceleration, and the correction applies to the present. Position and velocity have stamps of their own. Each aiding
    sensor has a slow error of its own (Gauss-Markov: GNSS position, barometer, compass heading), so that averaging many
    samples does not remove their common error; they age by the time since their sensor was last used, at the sample
    that is used next. With `speed_wander` GNSS velocity has one as well: without, its noise must be made larger than it
    is if fixes share errors, and its innovations are then smaller than expected. With `airspeed` the horizontal wind is
    a state.

    The magnetometer corrects the heading alone, never the tilt, with less weight while the tilt is hardly known, and
    only while strength and inclination of the field are those of `field_0`. Without it the heading follows from the
    gyro and from GNSS velocity while the vehicle accelerates. Without GNSS velocity the accelerometer is used as a weak
    level reference while its length is near g; without an accelerometer (`imu_healthy` 0) the flight is taken as
    unaccelerated, with much noise.

    A group that was rejected for `reset_after` is not simply accepted. A jump of the position is attributed to the slow
    error of the receiver, unless two receivers agree (`gnss_agreed`); then the estimate moves, and sooner. Velocity is
    reset only to two that agree, or to one that is alone, consistent in itself, and rejected in position too for twice
    as long. When the voter leaves a receiver (`gnss_used`), the estimate is suspect at once: the new one may move it.
    The barometer is re-zeroed while GNSS gives the height, else trusted. The compass is never accepted again by force:
    its gate opens as the heading grows uncertain.

    With `optical_flow`, flow and distance of a camera and a rangefinder that look down replace a GNSS velocity that has
    been missing for `level_after`: the state is then reported as healthy by its velocity, whatever the position's age.

    With `in_motion` a filter that starts while the vehicle flies or falls (a flight controller that restarts in the
    air) aligns as well: over MOTION_S the change of GNSS velocity less gravity is the specific force in N, the integral
    of the accelerometer between the times at which those fixes were valid is the same in axes F, which are those of the
    body at the start and are kept by the gyro, and with the field of the compass they give the attitude (two vectors,
    [Black1964], the field first). The fix is then carried to the present along that integral. A vehicle that moves by
    its receiver is not assumed to stand. In free fall, below MOTION_MPS2, no attitude can be found and the alignment
    waits.

    With `lever_arm` the inertial unit sits at `imu_position`, and the acceleration there due to the vehicle's rotation
    is subtracted: the state is that of the centre of mass. GNSS antenna and barometer are assumed to be at the centre
    of mass.

    Not modelled: earth rate and curvature, coning and sculling within a sample, rotations that are fast compared with
    the fusions, lever arms of the other sensors, side-slip as a measurement, large heading errors found by motion
    alone.
    """

    source = "[Sola2017] ch. 5, 6, 7; lever arm: [ChipLevel] Eq. 11, integrated; alignment in motion: [Black1964]"

    gnss_eph = In(unit="m", doc="standard deviation of each horizontal component")
    gnss_epv = In(unit="m", doc="standard deviation of the height")
    gnss_speed_accuracy = In(unit="m/s", doc="standard deviation of each velocity component")
    gnss_velocity_stamp = In(unit="s", doc="time at which the velocity of the GNSS sample came")
    gnss_used = In(unit="1", default=1.0, doc="number of the receiver")
    gnss_agreed = In(unit="1", default=2.0, doc="receivers that agree; 1 is one alone that is consistent, 0 none")
    baro_sound = In(unit="1", default=1.0, doc="0 while others contradict the barometer")
    imu_healthy = In(unit="1", default=1.0, doc="0 if no accelerometer is valid")
    zero_velocity = In(unit="1", default=0.0, doc="1 while the vehicle stands on the ground, disarmed")
    time = Clock(doc="time base of the stamps")

    accel_bias_B = Out(unit="m/s^2", shape=3, frame="B", doc="offset of the accelerometer")
    gnss_wander_N = Out(unit="m", shape=3, frame="N", doc="slow error of the GNSS position")
    baro_bias = Out(unit="m", doc="slow error of the barometer's height")
    heading_bias = Out(unit="rad", doc="slow error of the compass")
    std_position = Out(unit="m", shape=3, doc="standard deviation, north east down; 0 until aligned")
    std_velocity = Out(unit="m/s", shape=3, doc="standard deviation, north east down")
    std_attitude = Out(unit="rad", shape=3, doc="standard deviation about the body axes")
    nis_gnss_position = Out(unit="1", doc="latest normalised innovation squared, mean of the components")
    nis_gnss_velocity = Out(unit="1", doc="latest normalised innovation squared, mean of the components")
    nis_mag = Out(unit="1", doc="latest normalised innovation squared of the heading")
    nis_baro = Out(unit="1", doc="latest normalised innovation squared")
    rejected = Out(unit="1", shape=4, doc="1 if a gate closed at the latest: GNSS position, velocity, field, barometer")
    gnss_age = Out(unit="s", doc="since the last GNSS velocity within the gates; 1000 before the first")
    sink_rate = Out(unit="m/s", doc="for a blind descent: that of the state, or of a barometer that contradicts it")
    aligned = Out(unit="1", doc="1 after the alignment")
    healthy = Out(unit="1", doc="0 if not aligned, without inertial data or GNSS, or with a covariance out of bounds")

    q = State(unit="1", shape=4, init=(1.0, 0.0, 0.0, 0.0), doc="nominal attitude")
    v = State(unit="m/s", shape=3, frame="N", init=0.0, doc="nominal velocity")
    p = State(unit="m", shape=3, frame="N", init="position_0", doc="nominal position")
    gyro_bias = State(unit="rad/s", shape=3, frame="B", init=0.0, doc="nominal gyro bias")
    accel_bias = State(unit="m/s^2", shape=3, frame="B", init=0.0, doc="nominal accelerometer bias")
    wander = State(unit="m", shape=3, frame="N", init=0.0, doc="nominal slow error of GNSS position")
    height_bias = State(unit="m", init=0.0, doc="nominal slow error of the barometer")
    compass_bias = State(unit="rad", init=0.0, doc="nominal slow error of the compass")

    accel_last = State(unit="m/s^2", shape=3, frame="B", init=0.0, doc="the sample before")
    gyro_last = State(unit="rad/s", shape=3, frame="B", init=0.0, doc="the sample before")
    slow_stamps = State(unit="s", shape=3, init=0.0, doc="to which the slow errors are aged: field, barometer, GNSS")
    imu_age = State(unit="s", init=0.0, doc="since the last fresh inertial sample")
    ages = State(unit="s", shape=4, init=OLDEST_S, doc="since the last sample within the gate, by group")
    closed = State(unit="1", shape=4, init=0.0, doc="whether a gate was closed at the latest sample, by group")
    nis = State(unit="1", shape=4, init=0.0, doc="normalised innovation squared of the latest sample, by group")
    receiver = State(unit="1", init=1.0, doc="number of the GNSS receiver fused last")
    suspect = State(unit="1", init=0.0, doc="1 after a change of receiver until the new one is within the gates")
    climb = State(unit="m", shape=2, init=0.0, doc="height and, per second, climb rate, of the barometer alone")
    ready = State(unit="1", init=0.0, doc="1 after the alignment")
    mean_accel = State(unit="m/s^2", shape=3, frame="B", init=0.0, doc="mean during the alignment")
    mean_mag = State(unit="T", shape=3, frame="B", init=0.0, doc="mean during the alignment")
    mean_counts = State(unit="1", shape=2, init=0.0, doc="samples in the means")
    slot = State(unit="1", init=0.0, doc="counts samples, for what is done rarely")
    phase = State(unit="1", init=0.0, doc="samples since the last fusion; 0 is the sample of the next one")
    q_fused = State(unit="1", shape=4, init=(1.0, 0.0, 0.0, 0.0), doc="attitude after the last fusion")
    path_fused = State(unit="m/s", shape=3, init=0.0, doc="first integral of the acceleration at the last fusion")
    path = State(unit="m", shape=6, init=0.0, doc="second and first integral of the measured acceleration")

    position_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="position at the start")
    field_0 = Param(unit="T", shape=3, frame="N", doc="earth field; its direction gives the declination")
    gravity = Param(unit="m/s^2", default=STANDARD_GRAVITY_MPS2, low=1.0, doc="acceleration of gravity")
    align_time = Param(unit="s", default=0.4, low=0.0, doc="time over which the alignment averages")
    align_noise = Param(unit="m/s^2", default=0.05, low=1e-6, doc="of the mean accelerometer, bias apart")

    gyro_noise = Param(unit="rad/s", default=0.003, low=0.0, tunable=True, doc="standard deviation of one sample")
    accel_noise = Param(unit="m/s^2", default=0.1, low=0.0, tunable=True, doc="standard deviation of one sample")
    gyro_bias_walk = Param(unit="rad/s", default=5e-5, low=0.0, tunable=True, doc="random walk after one second")
    accel_bias_walk = Param(unit="m/s^2", default=1e-3, low=0.0, tunable=True, doc="random walk after one second")
    lost_accel_noise = Param(unit="m/s^2", default=25.0, low=0.0, tunable=True, doc="without an accelerometer")

    mag_noise = Param(unit="T", default=5e-7, low=1e-12, tunable=True, doc="standard deviation of a component")
    field_window = Param(unit="1", default=0.25, low=0.0, tunable=True, doc="of the field, off the model: not used")
    heading_spread = Param(unit="rad", default=0.04, low=0.0, tunable=True, doc="of the compass's slow error")
    heading_time = Param(unit="s", default=300.0, low=1e-2, tunable=True, doc="correlation of it")
    baro_noise = Param(unit="m", default=0.5, low=1e-6, tunable=True, doc="standard deviation, slow error apart")
    baro_spread = Param(unit="m", default=1.0, low=0.0, tunable=True, doc="of the barometer's slow error")
    baro_time = Param(unit="s", default=300.0, low=1e-2, tunable=True, doc="correlation of it")
    gnss_white = Param(
        unit="1", shape=2, default=0.5, low=0.0, tunable=True, doc="of stated eph, epv: what is new in each fix"
    )
    gnss_slow = Param(unit="1", shape=2, default=1.0, low=0.0, tunable=True, doc="of them: what fixes share")
    gnss_time = Param(unit="s", default=120.0, low=1e-2, tunable=True, doc="correlation of the shared error")
    speed_white = Param(
        unit="1",
        shape=2,
        default=1.0,
        low=0.0,
        tunable=True,
        doc="of the stated speed accuracy: what is new in each fix, of a horizontal component and of the vertical one",
    )
    imu_delay = Param(unit="s", default=0.0, low=0.0, high=0.02, tunable=True, doc="age of an inertial sample")
    gnss_delay = Param(unit="s", default=0.1, low=0.0, high=0.36, tunable=True, doc="age of a GNSS sample on arrival")
    min_eph = Param(unit="m", default=0.3, low=1e-6, tunable=True, doc="lower bound for a fix")
    min_epv = Param(unit="m", default=0.5, low=1e-6, tunable=True, doc="lower bound for a fix")
    min_speed_accuracy = Param(unit="m/s", default=0.1, low=1e-6, tunable=True, doc="lower bound for GNSS")
    zero_velocity_noise = Param(unit="m/s", default=0.05, low=1e-6, tunable=True, doc="of the standing vehicle")
    level_noise = Param(unit="m/s^2", default=1.0, low=1e-6, tunable=True, doc="of the accelerometer as a level")
    level_after = Param(unit="s", default=1.0, low=0.0, tunable=True, doc="without GNSS velocity until the level helps")
    level_window = Param(unit="1", default=0.1, low=0.0, tunable=True, doc="deviation from g at which it does not")

    gates = Param(unit="1", shape=4, default=5.0, low=0.1, tunable=True, doc="in standard deviations, by group")
    reset_after = Param(unit="s", default=5.0, low=0.0, tunable=True, doc="closed gate until something is done")
    max_gnss_age = Param(unit="s", default=5.0, low=0.0, tunable=True, doc="without GNSS velocity until not healthy")
    max_position_age = Param(unit="s", default=20.0, low=0.0, tunable=True, doc="the same of GNSS position")
    climb_window = Param(unit="m/s", default=1.5, low=0.0, tunable=True, doc="off the barometer's rate: contradicted")
    max_std_velocity = Param(unit="m/s", default=10.0, low=0.0, tunable=True, doc="not healthy above")
    max_std_attitude = Param(unit="rad", default=0.5, low=0.0, tunable=True, doc="not healthy above")
    max_std_position = Param(unit="m", default=1e4, low=1.0, high=1e5, doc="the covariance does not grow above")

    std_attitude_0 = Param(unit="rad", default=0.5, low=1e-6, doc="before the alignment's update")
    std_velocity_0 = Param(unit="m/s", default=0.5, low=1e-6, doc="at the start")
    std_position_0 = Param(unit="m", default=1.0, low=1e-6, doc="at the start")
    std_gyro_bias_0 = Param(unit="rad/s", default=0.01, low=1e-9, doc="at the start")
    std_accel_bias_0 = Param(unit="m/s^2", default=0.2, low=1e-9, doc="at the start")

    def __init__(
        self,
        *,
        sample_s: float = 0.004,
        history: int = 20,
        history_every: int = 5,
        lever_arm: bool = False,
        optical_flow: bool = False,
        in_motion: bool = False,
        speed_wander: bool = False,
        airspeed: bool = True,
    ) -> None:
        """`history` past values, `history_every` samples apart, limit the GNSS delay that can be compensated."""
        super().__init__(sample_s=sample_s)
        self.fuse_every = max(1, round(FUSE_S / sample_s))
        self.slots = self.fuse_every * max(1, round(SLOTS / self.fuse_every))
        self.speed_wander, self.airspeed = speed_wander, airspeed
        self.VW, self.W = ALWAYS, ALWAYS + 3 * speed_wander
        self.errors = self.W + 2 * airspeed
        self.upper = self.errors * (self.errors + 1) // 2
        triangle = State(unit="1", shape=self.upper, init=0.0, doc="upper triangle, column by column, in SI units")
        self.declare("covariance", triangle)
        used = "of the last use: inertial, field, barometer, GNSS position, velocity" + ", airspeed" * airspeed
        self.declare("stamps", State(unit="s", shape=5 + airspeed, init=0.0, doc=used))
        if speed_wander:
            self._declare_speed_wander()
        if airspeed:
            self._declare_airspeed()
        self.optical_flow = optical_flow
        if optical_flow:
            self.declare("flow", In(unit="rad/s", shape=2, doc="of the ground's image, about x and y of the body"))
            self.declare("flow_stamp", In(unit="s", doc="time of the flow"))
            self.declare("flow_quality", In(unit="1", doc="0 no use, 1 best"))
            self.declare("ground_distance", In(unit="m", doc="along the body's down axis"))
            self.declare("ground_stamp", In(unit="s", doc="time of the distance"))
            self.declare("ground_valid", In(unit="1", doc="1 inside the rangefinder's range"))
            self.declare("flow_noise", Param(unit="rad/s", default=0.1, low=1e-6, tunable=True, doc="of one sample"))
            self.declare("flow_gate", Param(unit="1", default=5.0, low=0.1, tunable=True, doc="in standard deviations"))
            self.declare("flow_last", State(unit="s", init=0.0, doc="stamp of the flow that was looked at last"))
            self.declare("flow_age", State(unit="s", init=OLDEST_S, doc="since the last flow within the gate"))
        self.in_motion = in_motion
        if in_motion:
            first = State(unit="s", init=0.0, doc="stamp of the GNSS velocity with which a look at the motion began")
            self.declare("motion_stamp", first)
            self.declare("motion_v", State(unit="m/s", shape=3, frame="N", init=0.0, doc="that velocity"))
            felt = State(unit="m/s", shape=3, init=0.0, doc="integral of the accelerometer in F when it was valid")
            self.declare("motion_felt", felt)
            self.declare("motion_time", State(unit="s", init=0.0, doc="since the start"))
        self.lever_arm = lever_arm
        if lever_arm:
            place = Param(unit="m", shape=3, frame="B", default=0.0, doc="of the inertial unit from the centre of mass")
            self.declare("imu_position", place)
        self.history = history
        self.history_every = history_every
        self.declare("past", State(unit="m", shape=6 * history, init=0.0, doc="earlier values of `path`, newest first"))
        self.declare("past_lag", State(unit="1", init=0.0, doc="samples since the newest of `past`"))

    def _declare_speed_wander(self) -> None:
        shared = "of the stated speed accuracy: what fixes share, of a horizontal component and of the vertical one"
        self.declare("speed_slow", Param(unit="1", shape=2, default=0.5, low=0.0, tunable=True, doc=shared))
        self.declare("speed_time", Param(unit="s", default=2.0, low=1e-2, tunable=True, doc="correlation of it"))
        slow = State(unit="m/s", shape=3, frame="N", init=0.0, doc="nominal slow error of GNSS velocity")
        self.declare("drift", slow)
        self.declare("drift_stamp", State(unit="s", init=0.0, doc="to which it is aged"))

    def _declare_airspeed(self) -> None:
        self.declare("airspeed", In(unit="m/s", default=0.0, doc="true airspeed"))
        never = In(unit="s", default=0.0, doc="time of the airspeed sample; 0 is never")
        self.declare("airspeed_stamp", never)
        air = Out(unit="m/s", shape=3, frame="N", doc="velocity of the air, horizontal; known only with airspeed")
        self.declare("wind_N", air)
        self.declare("wind", State(unit="m/s", shape=2, init=0.0, doc="nominal wind, north and east"))
        for name, unit, default, low, text in (
            ("wind_walk", "m/s", 0.1, 0.0, "random walk after one second"),
            ("airspeed_noise", "m/s", 1.0, 1e-6, "standard deviation"),
            ("min_airspeed", "m/s", 3.0, 0.1, "airspeed is not used below"),
            ("airspeed_gate", "1", 5.0, 0.1, "in standard deviations"),
        ):
            self.declare(name, Param(unit=unit, default=default, low=low, tunable=True, doc=text))
        self.declare("std_wind_0", Param(unit="m/s", default=5.0, low=1e-6, doc="at the start"))

    # ------------------------------------------------------------------ nominal state

    def _accel(self, x: View, u: View, p: View) -> ca.SX:
        """Accelerometer, or its value in unaccelerated flight if there is none."""
        steady = x.accel_bias - p.gravity * quaternion.rotation_matrix(x.q)[2, :].T
        return ca.if_else(u.imu_healthy > 0.5, u.accel_B, steady)

    def _swing(self, x: View, u: View, p: View, R_0: ca.SX, R_1: ca.SX) -> ca.SX | None:
        """Mean acceleration, in N, of the inertial unit about the centre of mass since the sample before.

        It is the change of R (w x r), so that no angular acceleration is needed and noise of the gyro does not add up.
        None without an accelerometer.
        """
        if not self.lever_arm:
            return None
        assert self.sample_s is not None
        v_0 = R_0 @ ca.cross(x.gyro_last - x.gyro_bias, p.imu_position)
        v_1 = R_1 @ ca.cross(u.gyro_B - x.gyro_bias, p.imu_position)
        return ca.if_else(u.imu_healthy > 0.5, (v_1 - v_0) / self.sample_s, 0)

    def _predict(self, x: View, u: View, p: View) -> _Nominal:
        """The nominal state at this sample, before any measurement."""
        assert self.sample_s is not None
        dt = self.sample_s * x.ready  # nothing moves before the alignment
        turned_s = self.sample_s if self.in_motion else dt  # except for the axes F and the integrals in them
        f_0, f_1 = x.accel_last - x.accel_bias, self._accel(x, u, p) - x.accel_bias
        turn = (0.5 * (x.gyro_last + u.gyro_B) - x.gyro_bias) * turned_s
        q = quaternion.product(x.q, from_rotation_vector(turn))
        R_0, R_1 = quaternion.rotation_matrix(x.q), quaternion.rotation_matrix(q)
        swing = self._swing(x, u, p, R_0, R_1)
        if swing is not None:
            f_0, f_1 = f_0 - R_0.T @ swing, f_1 - R_1.T @ swing
        weight = p.gravity * x.ready if self.in_motion else p.gravity
        acceleration = 0.5 * (R_0 @ f_0 + R_1 @ f_1) + ca.vertcat(0, 0, weight)
        v = x.v + dt * acceleration
        path = x.path[:3] + turned_s * (x.path[3:] + 0.5 * turned_s * acceleration)
        return _Nominal(
            q=q,
            R=R_1,
            v=v,
            p=x.p + 0.5 * dt * (x.v + v),
            dt=dt,
            f=0.5 * (f_0 + f_1),
            f_1=f_1,
            path=ca.vertcat(path, x.path[3:] + turned_s * acceleration),
            past=x.past,
        )

    def _transition(self, x: View, p: View, n: _Nominal, since: ca.SX, variance_p: ca.SX) -> ca.SX:
        """Jacobian of the error over the time since the last fusion, [Sola2017] Eq. 270, sparse.

        A past attitude error turns with the body, dth(t) = R(t)' R_0 dth_0, so that it moves the velocity by -[dv] R_0
        dth_0 with dv the integral of R f.
        """
        R_0 = quaternion.rotation_matrix(x.q_fused)
        dv = n.path[3:] - x.path_fused - ca.vertcat(0, 0, p.gravity) * since
        phi = ca.SX.eye(self.errors)
        phi[TH : TH + 3, TH : TH + 3] = n.R.T @ R_0
        phi[V : V + 3, TH : TH + 3] = -_skew(dv) @ R_0
        phi[V : V + 3, BA : BA + 3] = -0.5 * since * (R_0 + n.R)
        limit = p.max_std_position**2
        for i in range(3):
            phi[TH + i, BG + i] = -since
            # Lost for hours, the position's share of the covariance is scaled to its bound; this keeps it positive.
            shrink = ca.sqrt(limit / ca.fmax(variance_p[i], limit))
            phi[P + i, P + i] = shrink
            phi[P + i, V + i] = shrink * since
        return phi

    def _process_noise(self, u: View, p: View, since: ca.SX) -> ca.SX:
        """Increase of the variances by the samples since the last fusion, [Sola2017] Eq. 262 to 265.

        Slow errors change when their sensor is used.
        """
        assert self.sample_s is not None
        accel_noise = ca.if_else(u.imu_healthy > 0.5, p.accel_noise, p.lost_accel_noise)
        white = self.sample_s * since  # variance of each sample: (noise dt)^2
        spread = [p.gyro_noise**2 * white] * 3 + [accel_noise**2 * white] * 3 + [ca.SX(0)] * 3
        spread += [p.gyro_bias_walk**2 * since] * 3 + [p.accel_bias_walk**2 * since] * 3 + [ca.SX(0)] * 5
        spread += [ca.SX(0)] * (3 * self.speed_wander)
        if self.airspeed:
            spread += [p.wind_walk**2 * since] * 2
        return ca.vertcat(*spread)

    def _initial_variance(self, u: View, p: View, start: _Alignment) -> ca.SX:
        moved = [p.std_attitude_0, p.std_velocity_0, p.std_position_0]
        if start.moving is not None:
            own = [start.std, *MOTION_STD[1:]]
            moved = [ca.if_else(start.moving, a, b) for a, b in zip(own, moved, strict=True)]
        spread = [std for std in moved for _ in range(3)]
        spread += [p.std_gyro_bias_0] * 3 + [p.std_accel_bias_0] * 3
        spread += [p.gnss_slow[0] * u.gnss_eph] * 2 + [p.gnss_slow[1] * u.gnss_epv, p.baro_spread, p.heading_spread]
        if self.speed_wander:
            spread += [p.speed_slow[k] * u.gnss_speed_accuracy for k in (0, 0, 1)]
        if self.airspeed:
            spread += [p.std_wind_0] * 2
        return ca.vertcat(*spread) ** 2

    # ------------------------------------------------------------------ alignment

    def _alignment(
        self, x: View, u: View, p: View, n: _Nominal, due: ca.SX, imu_fresh: ca.SX, mag_fresh: ca.SX
    ) -> _Alignment:
        """Mean measurements while the vehicle stands, and the attitude that follows from them at a fusion."""
        assert self.sample_s is not None
        waiting = x.ready < 0.5
        counts = x.mean_counts + ca.vertcat(flag(imu_fresh), flag(mag_fresh))
        share = 1 / ca.fmax(counts, 1)
        accel = x.mean_accel + ca.if_else(imu_fresh, (u.accel_B - x.mean_accel) * share[0], 0)
        mag = x.mean_mag + ca.if_else(mag_fresh, (u.mag_B - x.mean_mag) * share[1], 0)
        length = ca.sqrt(ca.dot(accel, accel))
        full = ca.logic_and(counts[0] * self.sample_s >= p.align_time, counts[1] > 0.5)
        still = ca.fabs(length - p.gravity) < 0.2 * p.gravity
        if self.in_motion:
            still = ca.logic_and(still, ca.logic_not(_moves(u)))
        now = ca.logic_and(ca.logic_and(waiting, due), ca.logic_and(full, still))
        again = ca.logic_and(full, ca.logic_not(still))  # the vehicle moved: begin again
        standing = _Alignment(
            now=now,
            q=level_and_heading(accel, mag, p.field_0),
            accel=accel,
            mag=mag,
            counts=ca.if_else(again, ca.SX.zeros(2), counts),
            waiting=waiting,
        )
        return self._alignment_in_motion(x, u, p, n, due, standing) if self.in_motion else standing

    def _alignment_in_motion(self, x: View, u: View, p: View, n: _Nominal, due: ca.SX, start: _Alignment) -> _Alignment:
        """Attitude from two vectors in both axes: specific force by the change of GNSS velocity, and the field."""
        assert self.sample_s is not None
        fresh = ca.logic_and(u.gnss_velocity_stamp != x.stamps[4], u.gnss_fix > 2.5)
        lag = self._lag(u, p, u.gnss_velocity_stamp)
        remembered = x.motion_time > lag  # the fix was valid after the start
        look = ca.logic_and(ca.logic_and(start.waiting, due), ca.logic_and(fresh, remembered))
        felt = self._path_at(x, n, lag)[3:]
        passed_s = u.gnss_velocity_stamp - x.motion_stamp
        begun = ca.logic_and(x.motion_stamp > 0, passed_s < 2 * MOTION_S)
        full = ca.logic_and(begun, passed_s > MOTION_S - 0.5 * FUSE_S)
        over = ca.fmax(passed_s, FUSE_S)
        f_N = (u.gnss_velocity_N - x.motion_v) / over - ca.vertcat(0, 0, p.gravity)
        f_F = (felt - x.motion_felt) / over
        mag_F = n.R @ u.mag_B
        strong = ca.fmin(ca.dot(f_N, f_N), ca.dot(f_F, f_F)) > MOTION_MPS2**2
        apart = ca.fmin(_sine(f_N, p.field_0), _sine(f_F, mag_F)) > MOTION_SINE
        known = ca.logic_and(ca.logic_and(strong, apart), start.counts[1] > 0.5)
        now = ca.logic_and(ca.logic_and(look, full), ca.logic_and(known, ca.logic_not(start.now)))
        begin = ca.logic_and(look, ca.logic_or(ca.logic_not(begun), full))
        q = _of_matrix(_triad(p.field_0, f_N) @ _triad(mag_F, f_F).T @ n.R)
        start.motion = {
            "motion_stamp": ca.if_else(begin, u.gnss_velocity_stamp, x.motion_stamp),
            "motion_v": ca.if_else(begin, u.gnss_velocity_N, x.motion_v),
            "motion_felt": ca.if_else(begin, felt, x.motion_felt),
            "motion_time": ca.fmin(x.motion_time + self.sample_s, OLDEST_S),
        }
        weak = math.sqrt(2) * u.gnss_speed_accuracy / over / ca.sqrt(ca.dot(f_N, f_N) + SMALLEST**2)
        start.std = ca.sqrt(MOTION_STD[0] ** 2 + weak**2)  # of the two fixes, over the force
        start.q = ca.if_else(now, q, start.q)
        start.now, start.moving = ca.logic_or(start.now, now), now
        return start

    def _turned_past(self, x: View, p: View, n: _Nominal, R_NF: ca.SX) -> ca.SX:
        """First and second integral of the acceleration from earlier samples to the present one, with gravity, in N."""
        assert self.sample_s is not None
        g_N, turned = ca.vertcat(0, 0, p.gravity), []
        for i in range(self.history):
            age = (x.past_lag + 1 + i * self.history_every) * self.sample_s
            twice, once = x.past[6 * i : 6 * i + 3], x.past[6 * i + 3 : 6 * i + 6]
            turned += [R_NF @ (twice - n.path[:3] + age * n.path[3:]) + 0.5 * age**2 * g_N]
            turned += [R_NF @ (once - n.path[3:]) - age * g_N]
        return ca.vertcat(*turned)

    # ------------------------------------------------------------------ one sample

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        stamps = ca.vertcat(u.imu_stamp, u.mag_stamp, u.baro_stamp, u.gnss_stamp, u.gnss_velocity_stamp)
        if self.airspeed:
            stamps = ca.vertcat(stamps, u.airspeed_stamp)
        due = x.phase < 0.5
        fresh = [stamps[i] != x.stamps[i] for i in range(stamps.rows())]
        fresh = [fresh[0], *(ca.logic_and(due, new) for new in fresh[1:])]
        n = self._predict(x, u, p)
        start = self._alignment(x, u, p, n, due, fresh[0], fresh[1])
        active = ca.logic_or(x.ready > 0.5, start.now)
        predicted = {
            "q": quaternion.normalized(n.q),
            "v": n.v,
            "p": n.p,
            **{name: x[name] for name in ("gyro_bias", "accel_bias", "wander", "height_bias", "compass_bias")},
            **{name: x[name] for name in ("drift", "drift_stamp") if self.speed_wander},
            **{name: x[name] for name in ("wind",) if self.airspeed},
            **{
                name: x[name] for name in ("covariance", "closed", "nis", "slow_stamps", "receiver", "suspect", "climb")
            },
            "ages": ca.fmin(x.ages + self.sample_s, OLDEST_S),
            "q_fused": x.q_fused,
            "path_fused": x.path_fused,
        }
        if self.optical_flow:
            predicted |= {"flow_last": x.flow_last, "flow_age": ca.fmin(x.flow_age + self.sample_s, OLDEST_S)}
        fused = self._fused(x, u, p, n, start, active, fresh, stamps)
        shift = ca.logic_or(x.past_lag > self.history_every - 1.5, start.now)
        last = 6 * (self.history - 1)
        return {
            # The whole fusion is under one condition, so that it costs nothing at the samples between
            **{name: ca.if_else(due, fused[name], value) for name, value in predicted.items()},
            "accel_last": self._accel(x, u, p),
            "gyro_last": u.gyro_B,
            "stamps": ca.vertcat(stamps[0], ca.if_else(due, stamps[1:], x.stamps[1:])),
            "imu_age": next_age(fresh[0], x.imu_age, self.sample_s),
            "ready": flag(active),
            "mean_accel": ca.if_else(start.waiting, start.accel, x.mean_accel),
            "mean_mag": ca.if_else(start.waiting, start.mag, x.mean_mag),
            "mean_counts": ca.if_else(start.waiting, start.counts, x.mean_counts),
            "slot": ca.if_else(x.slot > self.slots - 1.5, 0, x.slot + 1),
            "phase": ca.if_else(x.phase > self.fuse_every - 1.5, 0, x.phase + 1),
            "path": n.path,
            "past": ca.if_else(shift, ca.vertcat(n.path, n.past[:last]), n.past),
            "past_lag": ca.if_else(shift, 0, x.past_lag + 1),
            **start.motion,
        }

    def _align(self, x: View, u: View, p: View, n: _Nominal, start: _Alignment) -> None:
        """Put the attitude of the alignment into the nominal state, and position and velocity of a start in motion."""
        n.q, R_FB = ca.if_else(start.now, start.q, n.q), n.R
        n.R = quaternion.rotation_matrix(n.q)
        if start.moving is not None:
            n.past = ca.if_else(start.now, self._turned_past(x, p, n, n.R @ R_FB.T), n.past)
            n.path = ca.if_else(start.now, ca.SX.zeros(6), n.path)
            lags = [self._lag(u, p, stamp) for stamp in (u.gnss_velocity_stamp, u.gnss_stamp)]
            v = u.gnss_velocity_N - self._path_at(x, n, lags[0])[3:]
            n.p = ca.if_else(start.moving, u.gnss_position_N + lags[1] * v - self._path_at(x, n, lags[1])[:3], n.p)
            n.v = ca.if_else(start.moving, v, n.v)

    def _fused(
        self,
        x: View,
        u: View,
        p: View,
        n: _Nominal,
        start: _Alignment,
        active: ca.SX,
        fresh: list[ca.SX],
        stamps: ca.SX,
    ) -> dict[str, ca.SX]:
        """States after a fusion: the covariance over the time since the last one, then the fresh measurements."""
        assert self.sample_s is not None
        self._align(x, u, p, n, start)
        since = self.fuse_every * n.dt

        # Covariance of the prediction; the alignment starts it from zero
        symmetric = ca.triu2symm(ca.SX(ca.Sparsity.upper(self.errors), x.covariance))
        phi = self._transition(x, p, n, since, ca.diag(symmetric)[P : P + 3])
        first = ca.if_else(start.now, self._initial_variance(u, p, start), ca.SX.zeros(self.errors))
        added = self._process_noise(u, p, since) + first
        moved = ca.densify(phi @ symmetric @ phi.T) + ca.diag(added)
        estimate = _Estimate(ca.triu2symm(ca.triu(moved)), ca.SX.zeros(self.errors))

        # Measurements: each layer is under one condition, so that it costs little between its samples
        sooner = ca.if_else(u.gnss_agreed > 1.5, AGREED_SHARE, 1)
        waits = [p.reset_after * (sooner if i in (GNSS_POSITION, GNSS_VELOCITY) else 1) for i in range(4)]
        due = [ca.logic_and(x.closed[i] > 0.5, x.ages[i] > waits[i]) for i in range(4)]
        for i in (GNSS_POSITION, GNSS_VELOCITY):
            due[i] = ca.logic_or(due[i], ca.logic_and(x.closed[i] > 0.5, x.suspect > 0.5))
        groups = _Groups(x, self.sample_s)
        use_airspeed = ca.logic_and(fresh[5], active) if self.airspeed else None
        estimate, flown = self._fuse_rare(estimate, x, u, p, n, start, active, use_airspeed)
        use_mag = ca.logic_and(fresh[1], active)
        use_baro = ca.logic_and(ca.logic_and(fresh[2], u.baro_sound > 0.5), active)
        slow = _Slow(x.wander, x.height_bias, x.compass_bias, x.drift if self.speed_wander else None)
        estimate = self._fuse_heading_and_height(estimate, x, u, p, n, use_mag, use_baro, due, groups, slow)
        fixed = ca.logic_and(u.gnss_fix > 2.5, active)
        use_position, use_velocity = ca.logic_and(fresh[3], fixed), ca.logic_and(fresh[4], fixed)
        estimate = self._fuse_gnss(estimate, x, u, p, n, use_position, use_velocity, due, groups, slow)

        # The correction goes into the nominal state, [Sola2017] Eq. 283
        d = estimate.error
        idle = ca.logic_not(active)
        aged = [
            ca.if_else(ca.logic_or(use, idle), stamp, x.slow_stamps[i])
            for i, (use, stamp) in enumerate(
                ((use_mag, u.mag_stamp), (use_baro, u.baro_stamp), (use_position, u.gnss_stamp))
            )
        ]
        if slow.drift is not None:
            aged_to = ca.if_else(ca.logic_or(use_velocity, idle), u.gnss_velocity_stamp, x.drift_stamp)
            flown |= {"drift": slow.drift + d[self.VW : self.VW + 3], "drift_stamp": aged_to}
        if self.airspeed:
            flown["wind"] = x.wind + d[self.W : self.W + 2]
        q = quaternion.normalized(quaternion.product(n.q, from_rotation_vector(d[TH : TH + 3])))
        return {
            "q": q,
            "v": n.v + d[V : V + 3],
            "p": n.p + d[P : P + 3],
            "gyro_bias": x.gyro_bias + d[BG : BG + 3],
            "accel_bias": x.accel_bias + d[BA : BA + 3],
            "wander": slow.wander + d[GW : GW + 3],
            "height_bias": slow.height + d[BB],
            "compass_bias": slow.heading + d[HB],
            "covariance": ca.sparsity_cast(ca.triu(estimate.covariance), ca.Sparsity.dense(self.upper)),
            "slow_stamps": ca.vertcat(*aged),
            **flown,
            "ages": ca.vertcat(*groups.ages),
            "closed": ca.vertcat(*groups.closed),
            "nis": ca.vertcat(*groups.nis),
            "receiver": ca.if_else(use_position, u.gnss_used, x.receiver),
            "suspect": self._suspect(x, u, use_position, groups),
            "climb": self._climb(x, u, fresh[2]),
            "q_fused": q,
            "path_fused": n.path[3:],
        }

    def _fuse_rare(
        self, e: _Estimate, x: View, u: View, p: View, n: _Nominal, start: _Alignment, active: ca.SX, air: ca.SX | None
    ) -> tuple[_Estimate, dict[str, ca.SX]]:
        """Fuse zero velocity at rest, or the accelerometer as a level (alignment, GNSS lost); airspeed; flow.

        Also the next states of the flow.
        """
        felt = n.f + x.accel_bias if self.lever_arm else 0.5 * (x.accel_last + self._accel(x, u, p))
        accel = ca.if_else(start.now, start.accel, felt)
        length = ca.sqrt(ca.dot(accel, accel))
        standing = ca.logic_and(u.zero_velocity > 0.5, ca.logic_not(start.now))
        levels = start.now
        if start.moving is not None:
            standing = ca.logic_and(standing, ca.logic_not(_moves(u)))
            levels = ca.logic_and(start.now, ca.logic_not(start.moving))
        near_g = ca.fabs(length - p.gravity) < p.level_window * p.gravity
        level = ca.logic_and(x.ages[GNSS_VELOCITY] > p.level_after, near_g)
        in_turn = ca.logic_and(active, ca.logic_and(x.slot < 0.5, ca.logic_or(standing, level)))
        use = ca.logic_or(levels, in_turn)
        g_B = p.gravity * n.R[2, :].T
        tilt = -_skew(g_B)
        stand = flag(standing)
        tilted = 1 - stand
        noise = ca.if_else(standing, p.zero_velocity_noise, ca.if_else(start.now, p.align_noise, p.level_noise))
        after = e
        for i in range(3):
            row = {TH + k: tilted * tilt[i, k] for k in range(3) if k != i}
            row |= {BA + i: tilted, V + i: stand}
            residual = ca.if_else(standing, -n.v[i], accel[i] - x.accel_bias[i] + g_B[i])
            after = after.fuse(row, residual, noise**2, use)
        states: dict[str, ca.SX] = {}
        if air is not None:
            after, use = self._fuse_airspeed(after, x, u, p, n, air), ca.logic_or(use, air)
        if self.optical_flow:
            after, seen, states = self._fuse_flow(after, x, u, p, n, active)
            use = ca.logic_or(use, seen)
        return e.replaced(use, after), states

    def _fuse_airspeed(self, e: _Estimate, x: View, u: View, p: View, n: _Nominal, air: ca.SX) -> _Estimate:
        """Fuse the speed through the air: length of velocity minus wind."""
        relative = n.v - ca.vertcat(x.wind, 0)
        speed = ca.sqrt(ca.dot(relative, relative) + SMALLEST**2)
        fast = ca.logic_and(speed > p.min_airspeed, u.airspeed > p.min_airspeed)
        ahead = relative / speed
        row = {V + k: ahead[k] for k in range(3)} | {self.W + k: -ahead[k] for k in range(2)}
        return e.fuse(row, u.airspeed - speed, p.airspeed_noise**2, ca.logic_and(air, fast), p.airspeed_gate)

    def _fuse_flow(
        self, e: _Estimate, x: View, u: View, p: View, n: _Nominal, active: ca.SX
    ) -> tuple[_Estimate, ca.SX, dict[str, ca.SX]]:
        """Fuse the velocity from flow times distance while GNSS has none; also when it was used, and next states."""
        assert self.sample_s is not None
        clear = ca.logic_and(u.flow_quality > 0.5, u.ground_valid > 0.5)
        whole = ca.logic_and(clear, u.time - u.ground_stamp < FLOW_LOST_S)
        fresh = ca.logic_and(u.flow_stamp != x.flow_last, whole)
        use = ca.logic_and(ca.logic_and(fresh, active), x.ages[GNSS_VELOCITY] > p.level_after)
        turn = u.gyro_B - x.gyro_bias
        v_B = n.R.T @ n.v
        measured = u.ground_distance * ca.vertcat(u.flow[1] - turn[1], turn[0] - u.flow[0])
        sway = _skew(v_B)  # what a small turn of the body changes of v_B
        after = e.counted_anew()
        for i in range(2):
            row = {V + k: n.R[k, i] for k in range(3)} | {TH + k: sway[i, k] for k in range(3) if k != i}
            noise = (p.flow_noise * u.ground_distance) ** 2 + FLOW_FLOOR_MPS**2
            after = after.fuse(row, measured[i] - v_B[i], noise, use, p.flow_gate)
        taken = ca.logic_and(use, ca.SX(after.closed) < 0.5)
        states = {"flow_last": u.flow_stamp, "flow_age": next_age(taken, x.flow_age, self.sample_s)}
        return after, use, states

    def _fuse_heading_and_height(
        self,
        e: _Estimate,
        x: View,
        u: View,
        p: View,
        n: _Nominal,
        mag: ca.SX,
        baro: ca.SX,
        due: list[ca.SX],
        groups: _Groups,
        slow: _Slow,
    ) -> _Estimate:
        """Fuse the magnetometer (turn about the vertical, if the field fits the model) and the barometer (height)."""
        layer = ca.logic_or(mag, baro)
        m_N = n.R @ u.mag_B
        level = ca.sqrt(ca.dot(m_N[:2], m_N[:2]))
        level_0 = ca.sqrt(ca.dot(p.field_0[:2], p.field_0[:2]) + SMALLEST_T**2)
        off = ca.sqrt((level - level_0) ** 2 + (m_N[2] - p.field_0[2]) ** 2)
        like = off < p.field_window * ca.sqrt(ca.dot(p.field_0, p.field_0))
        keep = ca.exp(-clip(u.mag_stamp - x.slow_stamps[0], 0, OLDEST_S) / p.heading_time)
        heading = keep * x.compass_bias
        after = e.faded(HB, keep, p.heading_spread**2, mag)
        # The field, turned into N by an attitude that lacks a turn d about the vertical, points d too far back
        sine = p.field_0[1] * m_N[0] - p.field_0[0] * m_N[1]
        residual = ca.atan2(sine, ca.dot(p.field_0[:2], m_N[:2])) - heading
        row = {TH + k: n.R[2, k] for k in range(3)} | {HB: ca.SX(1)}
        # Where the field dips, a turn about its horizontal direction looks like one of the heading. The slow error of
        # the compass has its share of that: this counts only while the attitude is hardly known
        flat = n.R.T @ ca.vertcat(p.field_0[:2] / level_0, 0)
        tilt = ca.bilin(e.covariance[TH : TH + 3, TH : TH + 3], flat, flat) * (p.field_0[2] / level_0) ** 2
        noise = (p.mag_noise / level_0) ** 2 + ca.fmax(tilt - p.heading_spread**2, 0)
        after = after.fuse(row, residual, noise, ca.logic_and(mag, like), p.gates[MAG])
        groups.note(MAG, layer, mag, after)
        slow.heading = ca.if_else(layer, ca.if_else(mag, heading, x.compass_bias), x.compass_bias)

        known = x.ages[GNSS_POSITION] < NO_FIX_S
        keep = ca.exp(-clip(u.baro_stamp - x.slow_stamps[1], 0, OLDEST_S) / p.baro_time)
        bias = keep * x.height_bias
        residual = u.baro_height - bias + n.p[2]
        rezero = ca.logic_and(baro, ca.logic_and(due[BARO], known))
        moved = ca.logic_and(baro, ca.logic_and(due[BARO], ca.logic_not(known)))
        after = after.counted_anew().faded(BB, keep, p.baro_spread**2, baro)
        after = after.forget(BB, rezero, FORGET * residual**2).forget(P + 2, moved, FORGET * p.baro_noise**2)
        row = {P + 2: ca.SX(-1), BB: ca.SX(1)}
        after = after.fuse(row, residual, p.baro_noise**2, baro, p.gates[BARO], due[BARO])
        groups.note(BARO, layer, baro, after)
        slow.height = ca.if_else(layer, ca.if_else(baro, bias, x.height_bias), x.height_bias)
        return e.replaced(layer, after)

    def _fuse_gnss(
        self,
        e: _Estimate,
        x: View,
        u: View,
        p: View,
        n: _Nominal,
        use_position: ca.SX,
        use_velocity: ca.SX,
        due: list[ca.SX],
        groups: _Groups,
        slow: _Slow,
    ) -> _Estimate:
        """Fuse position and velocity of a past moment with the present estimate carried back to that moment."""
        layer = ca.logic_or(use_position, use_velocity)
        lag = self._lag(u, p, u.gnss_stamp)
        then = self._path_at(x, n, lag)
        p_past = n.p - lag * n.v + lag * n.path[3:] - (n.path[:3] - then[:3])
        agreed = ca.logic_or(u.gnss_agreed > 1.5, x.suspect > 0.5)
        other = ca.logic_and(use_position, u.gnss_used != x.receiver)
        moved = ca.logic_and(use_position, ca.logic_and(due[GNSS_POSITION], agreed))
        rezero = ca.logic_and(use_position, ca.logic_and(due[GNSS_POSITION], ca.logic_not(agreed)))
        keep = ca.exp(-clip(u.gnss_stamp - x.slow_stamps[2], 0, OLDEST_S) / p.gnss_time)
        wander = ca.if_else(other, 0, keep * x.wander)
        after = e
        stated = [u.gnss_eph, u.gnss_eph, u.gnss_epv]
        least = [p.min_eph, p.min_eph, p.min_epv]
        for i in range(3):
            spread = ca.fmax(p.gnss_white[i // 2] * stated[i], least[i])
            residual = u.gnss_position_N[i] - p_past[i] - wander[i]
            slow_variance = (p.gnss_slow[i // 2] * stated[i]) ** 2
            after = after.faded(GW + i, keep, slow_variance, use_position).forget(GW + i, other, slow_variance)
            after = after.forget(P + i, moved, FORGET * spread**2).forget(GW + i, rezero, FORGET * residual**2)
            row = {P + i: ca.SX(1), V + i: -lag, GW + i: ca.SX(1)}
            after = after.fuse(row, residual, spread**2, use_position, p.gates[GNSS_POSITION], due[GNSS_POSITION])
        groups.note(GNSS_POSITION, layer, use_position, after)
        slow.wander = ca.if_else(layer, ca.if_else(use_position, wander, x.wander), x.wander)

        lag = self._lag(u, p, u.gnss_velocity_stamp)
        v_past = n.v - (n.path[3:] - self._path_at(x, n, lag)[3:])
        # A tilt error of now was one of the acceleration since then: dv(then) = dv - lag da, da = -R [f] dth - R dba
        tilt = lag * (n.R @ _skew(n.f_1))
        alone = ca.logic_and(u.gnss_agreed > 0.5, x.closed[GNSS_POSITION] > 0.5)
        alone = ca.logic_and(alone, x.ages[GNSS_VELOCITY] > 2 * p.reset_after)
        reset = ca.logic_and(due[GNSS_VELOCITY], ca.logic_or(agreed, alone))
        reset = ca.logic_and(use_velocity, reset)
        after = after.counted_anew()
        drift = ca.SX.zeros(3)
        if self.speed_wander:
            keep = ca.exp(-clip(u.gnss_velocity_stamp - x.drift_stamp, 0, OLDEST_S) / p.speed_time)
            drift = ca.if_else(other, 0, keep * x.drift)
            slow.drift = ca.if_else(layer, ca.if_else(use_velocity, drift, x.drift), x.drift)
        for i in range(3):
            speed = ca.fmax(p.speed_white[i // 2] * u.gnss_speed_accuracy, p.min_speed_accuracy)
            after = after.forget(V + i, reset, FORGET * speed**2)
            row = {V + i: ca.SX(1)}
            row |= {TH + k: tilt[i, k] for k in range(3)} | {BA + k: lag * n.R[i, k] for k in range(3)}
            if self.speed_wander:
                row[self.VW + i] = ca.SX(1)
                slow_variance = (p.speed_slow[i // 2] * u.gnss_speed_accuracy) ** 2
                after = after.faded(self.VW + i, keep, slow_variance, use_velocity)
                after = after.forget(self.VW + i, other, slow_variance)
            residual = u.gnss_velocity_N[i] - v_past[i] - drift[i]
            after = after.fuse(row, residual, speed**2, use_velocity, p.gates[GNSS_VELOCITY], reset)
        groups.note(GNSS_VELOCITY, layer, use_velocity, after)
        return e.replaced(layer, after)

    def _suspect(self, x: View, u: View, use: ca.SX, groups: _Groups) -> ca.SX:
        """Whether the estimate is doubted after a change of receiver, until both agree."""
        fine = ca.logic_and(groups.closed[GNSS_POSITION] < 0.5, groups.closed[GNSS_VELOCITY] < 0.5)
        changed = ca.logic_or(u.gnss_used != x.receiver, ca.logic_and(x.suspect > 0.5, ca.logic_not(fine)))
        return ca.if_else(use, flag(changed), x.suspect)

    def _climb(self, x: View, u: View, fresh: ca.SX) -> ca.SX:
        """Height and climb rate by the barometer alone: an observer of second order."""
        dt = clip(u.baro_stamp - x.stamps[2], 0, BARO_LOST_S)
        ahead = x.climb[0] + dt * x.climb[1]
        first = x.stamps[2] <= 0
        missing = ca.if_else(first, 0, clip(u.baro_height - ahead, -MOST_STEP_M, MOST_STEP_M))
        height = ca.if_else(first, u.baro_height, ahead + 2 * CLIMB_DAMPING * CLIMB_RADPS * dt * missing)
        rate = x.climb[1] + CLIMB_RADPS**2 * dt * missing
        return ca.if_else(fresh, ca.vertcat(height, rate), x.climb)

    @staticmethod
    def _lag(u: View, p: View, stamp: ca.SX) -> ca.SX:
        """Age (s) of a receiver's fix relative to the state, which is that of the inertial samples."""
        return ca.fmax(ca.fmax(u.time - stamp, 0) + p.gnss_delay - p.imu_delay, 0)

    def _path_at(self, x: View, n: _Nominal, lag: ca.SX) -> ca.SX:
        """Integrals of acceleration at a past time, linear between the stored values."""
        assert self.sample_s is not None
        newest = (x.past_lag + 1) * self.sample_s  # age of the newest stored value, as seen from this sample
        spacing = self.history_every * self.sample_s
        place = ca.fmin((lag - newest) / spacing, self.history - 1)
        total = ca.SX.zeros(6)
        for i in range(self.history):
            weight = ca.fmax(1 - ca.fabs(place - i), 0)
            total = total + weight * n.past[6 * i : 6 * i + 6]
        share = clip(lag / newest, 0, 1)  # younger than all stored ones: between now and the newest
        return ca.if_else(place > 0, total, n.path + share * (n.past[:6] - n.path))

    def output(self, x: View, u: View, p: View) -> Values:
        n = self._predict(x, u, p)
        ahead = p.imu_delay * x.ready
        q = quaternion.normalized(quaternion.product(n.q, from_rotation_vector(ahead * (u.gyro_B - x.gyro_bias))))
        v = n.v + ahead * (n.R @ n.f_1 + ca.vertcat(0, 0, p.gravity))
        variance = ca.diag(ca.SX(ca.Sparsity.upper(self.errors), x.covariance))
        std = ca.sqrt(ca.fmax(variance[: P + 3], 0))
        sound = ca.SX(1)
        fixed = ca.logic_and(
            x.ages[GNSS_VELOCITY] < p.max_gnss_age,
            x.ages[GNSS_POSITION] < p.max_position_age,
        )
        if self.optical_flow:
            by_flow = ca.logic_and(x.flow_age < FLOW_LOST_S, x.ages[GNSS_VELOCITY] > p.level_after)
            fixed = ca.logic_or(fixed, by_flow)
        for fine in (
            x.ready > 0.5,
            x.imu_age < IMU_LOST_S,
            fixed,
            ca.mmax(std[V : V + 3]) < p.max_std_velocity,
            ca.mmax(std[TH : TH + 3]) < p.max_std_attitude,
            ca.mmin(variance) >= 0,
        ):
            sound = ca.logic_and(sound, fine)
        heard = ca.logic_and(u.time - x.stamps[2] < BARO_LOST_S, x.stamps[2] > 0)
        contradicted = ca.logic_and(heard, ca.fabs(n.v[2] + x.climb[1]) > p.climb_window)
        return {
            "p_NB_N": n.p + 0.5 * ahead * (n.v + v),
            "v_NB_N": v,
            "q_NB": q,
            "R_NB": quaternion.rotation_matrix(q),
            "euler": quaternion.to_euler(q),
            "w_NB_B": u.gyro_B - x.gyro_bias,
            "gyro_bias_B": x.gyro_bias,
            "accel_bias_B": x.accel_bias,
            "gnss_wander_N": x.wander,
            "baro_bias": x.height_bias,
            "heading_bias": x.compass_bias,
            **({"wind_N": ca.vertcat(x.wind, 0)} if self.airspeed else {}),
            "std_position": std[P : P + 3],
            "std_velocity": std[V : V + 3],
            "std_attitude": std[TH : TH + 3],
            "nis_gnss_position": x.nis[GNSS_POSITION],
            "nis_gnss_velocity": x.nis[GNSS_VELOCITY],
            "nis_mag": x.nis[MAG],
            "nis_baro": x.nis[BARO],
            "rejected": x.closed,
            "gnss_age": x.ages[GNSS_VELOCITY],
            "sink_rate": ca.if_else(contradicted, -x.climb[1], n.v[2]),
            "aligned": x.ready,
            "healthy": flag(sound),
        }


@dataclass
class _Nominal:
    """The predicted nominal state, and the quantities that its covariance needs."""

    q: ca.SX
    R: ca.SX
    v: ca.SX
    p: ca.SX
    path: ca.SX
    past: ca.SX  # its earlier values
    dt: ca.SX
    f: ca.SX  # mean specific force at the centre of mass, bias taken off
    f_1: ca.SX  # that of this sample


@dataclass
class _Slow:
    """Nominal slow errors, decayed if their sensor was used."""

    wander: ca.SX
    height: ca.SX
    heading: ca.SX
    drift: ca.SX | None  # of GNSS velocity


@dataclass
class _Alignment:
    """Mean measurements and the attitude they give; `now` is true at the one sample at which it is used."""

    now: ca.SX
    waiting: ca.SX
    q: ca.SX
    accel: ca.SX
    mag: ca.SX
    counts: ca.SX
    moving: ca.SX | None = None  # aligned in motion
    std: ca.SX | float = 0.0  # standard deviation of that attitude
    motion: dict[str, ca.SX] = field(default_factory=dict)  # next states of that


@dataclass
class _Estimate:
    """Covariance and error state while measurements are fused component by component."""

    covariance: ca.SX
    error: ca.SX
    nis_sum: ca.SX | float = 0.0
    closed: ca.SX | float = 0.0  # number of components that a gate rejected
    count: int = 0

    def fuse(
        self,
        row: dict[int, ca.SX],
        residual: ca.SX,
        variance: ca.SX,
        use: ca.SX,
        gate: ca.SX | None = None,
        force: ca.SX | None = None,
    ) -> _Estimate:
        """Fuse one scalar measurement where `use` holds and it is within the gate (or forced).

        `row` holds the few derivatives by the error state that are not zero.
        """
        cross = ca.SX.zeros(self.error.rows())
        expected = ca.SX(0)
        for place, slope in row.items():
            cross = cross + self.covariance[:, place] * slope
            expected = expected + slope * self.error[place]
        total = variance
        for place, slope in row.items():
            total = total + slope * cross[place]
        innovation = residual - expected
        nis = innovation**2 / total
        taken = use
        if gate is not None:
            within = nis < gate**2
            taken = ca.logic_and(use, within if force is None else ca.logic_or(within, force))
        # The bounds have no effect on numbers. Without them CasADi would spread the choice and the division over every
        # entry of the covariance.
        inverse = ca.fmax(_weight(taken) / total, 0)
        innovation = clip(innovation, -LARGEST, LARGEST)
        gain = cross * inverse
        return _Estimate(
            ca.triu2symm(ca.triu(self.covariance - gain @ cross.T)),
            self.error + gain * innovation,
            self.nis_sum + nis,
            self.closed + 1 - flag(taken),
            self.count + 1,
        )

    def forget(self, place: int, when: ca.SX, variance: ca.SX) -> _Estimate:
        """Make one error state independent of the others, with a given variance."""
        keep = 1 - flag(when)
        covariance = ca.SX(self.covariance)
        covariance[place, :] = covariance[place, :] * keep
        covariance[:, place] = covariance[place, :].T
        covariance[place, place] = ca.if_else(when, variance, self.covariance[place, place])
        return _Estimate(covariance, self.error, self.nis_sum, self.closed, self.count)

    def faded(self, place: int, keep: ca.SX, variance: ca.SX, when: ca.SX) -> _Estimate:
        """One error state after some time, as a Gauss-Markov process with a steady variance, [Sola2017] App. E."""
        keep = 1 - _weight(when) * (1 - keep)
        covariance = ca.SX(self.covariance)
        covariance[place, :] = covariance[place, :] * keep
        covariance[:, place] = covariance[place, :].T
        covariance[place, place] = keep**2 * self.covariance[place, place] + (1 - keep**2) * variance
        return _Estimate(covariance, self.error, self.nis_sum, self.closed, self.count)

    def counted_anew(self) -> _Estimate:
        """The same estimate with reset counters, for the next group's statistics."""
        return _Estimate(self.covariance, self.error)

    def replaced(self, use: ca.SX, after: _Estimate) -> _Estimate:
        """This estimate, or the one after a group, if the group's sensor has a new sample."""
        upper = ca.if_else(use, ca.triu(after.covariance), ca.triu(self.covariance))
        error = ca.if_else(use, after.error, self.error)
        # The bound has no effect on numbers: it keeps CasADi from carrying a choice between error and zero into the
        # products of the next layer, which would pull this layer's work out of its guard.
        return _Estimate(ca.triu2symm(upper), ca.fmin(error, LARGEST) if self.error.is_zero() else error)


class _Groups:
    """Statistics of the measurement groups: age, gate, normalised innovation."""

    def __init__(self, x: View, sample_s: float) -> None:
        self.ages = [ca.fmin(x.ages[i] + sample_s, OLDEST_S) for i in range(4)]
        self.closed = [x.closed[i] for i in range(4)]
        self.nis = [x.nis[i] for i in range(4)]

    def note(self, group: int, layer: ca.SX, use: ca.SX, after: _Estimate) -> None:
        """Enter a group's sample; everything is under the condition of its layer."""
        shut = ca.SX(after.closed) > 0.5
        idle = _weight(use) < 0.5
        for values, new in (
            (self.ages, ca.if_else(shut, self.ages[group], 0)),
            (self.closed, flag(shut)),
            (self.nis, after.nis_sum / after.count),
        ):
            values[group] = ca.if_else(layer, ca.if_else(idle, values[group], new), values[group])


def _weight(condition: ca.SX) -> ca.SX:
    """1 where a condition holds, else 0; as a plain number, so that it starts no guard within that of its layer."""
    return ca.fmax(flag(condition), 0)


def _moves(u: View) -> ca.SX:
    """Whether the vehicle moves according to its receiver."""
    fast = ca.dot(u.gnss_velocity_N, u.gnss_velocity_N) > MOVES_MPS**2
    return ca.logic_and(u.gnss_fix > 2.5, fast)


def _unit(v: ca.SX) -> ca.SX:
    return v / ca.sqrt(ca.dot(v, v) + SMALLEST**4)


def _sine(a: ca.SX, b: ca.SX) -> ca.SX:
    """Sine of the angle between two vectors."""
    across = ca.cross(_unit(a), _unit(b))
    return ca.sqrt(ca.dot(across, across))


def _triad(first: ca.SX, second: ca.SX) -> ca.SX:
    """Orthonormal columns: the first vector, the normal of both, and the normal of these two."""
    a = _unit(first)
    normal = _unit(ca.cross(a, _unit(second)))
    return ca.horzcat(a, normal, ca.cross(a, normal))


def _of_matrix(R: ca.SX) -> ca.SX:
    """Quaternion of a rotation matrix, by way of its Euler angles."""
    pitch = ca.asin(clip(-R[2, 0], -1, 1))
    return quaternion.from_euler(ca.atan2(R[2, 1], R[2, 2]), pitch, ca.atan2(R[1, 0], R[0, 0]))


def _skew(v: ca.SX) -> ca.SX:
    """Skew-symmetric matrix of the cross product with v."""
    return ca.SX(ca.skew(v))
