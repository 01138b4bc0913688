#include "law.h"
#include LAW_HEADER
#include "ib_math_single.h"

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define LAW(name) JOIN(LAW_NAME, name)

static LAW(model) model;

void law_start(void) { LAW(init)(&model, 1u); }

void law_step(const float *s, const float *r, float *actuators) {
  LAW(inputs) in;
  LAW(outputs) out;
  float roll_sin, roll_cos, pitch_sin, pitch_cos, yaw_sin, yaw_cos;
  ib_sincos(s[3], &roll_sin, &roll_cos);
  ib_sincos(-s[4], &pitch_sin, &pitch_cos);
  ib_sincos(-s[5], &yaw_sin, &yaw_cos);
  LAW(default_inputs)(&in);
  in.body_p_NB_N[0] = s[0], in.body_p_NB_N[1] = -s[1], in.body_p_NB_N[2] = -s[2];
  in.body_v_NB_N[0] = s[8], in.body_v_NB_N[1] = -s[9], in.body_v_NB_N[2] = -s[10];
  float *R = in.body_R_NB; /* by columns: Rz(yaw) Ry(pitch) Rx(roll) */
  R[0] = yaw_cos * pitch_cos, R[1] = yaw_sin * pitch_cos, R[2] = -pitch_sin;
  R[3] = yaw_cos * pitch_sin * roll_sin - yaw_sin * roll_cos;
  R[4] = yaw_sin * pitch_sin * roll_sin + yaw_cos * roll_cos;
  R[5] = pitch_cos * roll_sin;
  R[6] = yaw_cos * pitch_sin * roll_cos + yaw_sin * roll_sin;
  R[7] = yaw_sin * pitch_sin * roll_cos - yaw_cos * roll_sin;
  R[8] = pitch_cos * roll_cos;
  const float w[3] = {s[11], -s[12], -s[13]}; /* the link has the angular velocity in world axes */
  for (int i = 0; i < 3; i++) in.body_w_NB_B[i] = R[3 * i] * w[0] + R[3 * i + 1] * w[1] + R[3 * i + 2] * w[2];
  for (int i = 0; i < 2; i++) in.body_tilt[i] = s[6 + i], in.body_tilt_rate[i] = s[14 + i];
  in.navigator_position_set[0] = r[0], in.navigator_position_set[1] = -r[1], in.navigator_position_set[2] = -r[2];
  in.navigator_yaw_set = -r[3];
  in.navigator_velocity_set[0] = r[4], in.navigator_velocity_set[1] = -r[5], in.navigator_velocity_set[2] = -r[6];
  in.navigator_armed = r[7], in.navigator_grounded = r[8];
  LAW(step)(&model, &in, &out);
  for (int i = 0; i < 4; i++) actuators[i] = out.control_wanted[i];
}
