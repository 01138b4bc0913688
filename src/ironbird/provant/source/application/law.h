/* The control law: equations generated from the block that flies in the simulator's kernel; here is what lies between its
 * axes (north-east-down, forward-right-down) and those of the links (z up, y to the left). */
#ifndef LAW_H
#define LAW_H
void law_start(void);
void law_step(const float *sensors, const float *reference, float *actuators); /* once a period of 12 ms */
#endif
