/* Random number generator [RM0090] 24: a number at each read.  The numbers are those of a shift register that begins the
 * same after every reset (Marsaglia, Xorshift RNGs, 2003), so that runs repeat. */

static uint32_t fw_rng_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t on = p->r[0] >> 2 & 1;
  if (o == 4) return on; /* DRDY */
  if (o != 8 || !on) return p->r[o >> 2];
  p->shift ^= p->shift << 13;
  p->shift ^= p->shift >> 17;
  p->shift ^= p->shift << 5;
  return p->shift;
}
