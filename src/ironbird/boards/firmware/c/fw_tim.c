/* Timers [RM0090] 17 to 20: counting up, update and compare events, input capture, PWM registers that the world reads.
 * The count is worked out when it is asked for.  Not modelled: counting down and to the centre, slave modes, encoders,
 * dead time, repetition counter. */
enum { T_CR1, T_CR2, T_SMCR, T_DIER, T_SR, T_EGR, T_CCMR1, T_CCMR2, T_CCER, T_CNT, T_PSC, T_ARR, T_RCR, T_CCR1 };

static uint64_t fw_tim_q(fw_machine *m, uint32_t row) { /* of one count; timers run at twice a divided bus */
  uint32_t bus = m->row[row].bus, divisor = bus == 1 ? m->s.apb1 : m->s.apb2;
  uint64_t q = FW_Q * (uint64_t)m->s.ahb * (divisor > 1 ? divisor / 2 : 1);
  return q * (m->s.p[row].flags + 1); /* the prescaler in use */
}

static uint64_t fw_tim_period(fw_machine *m, uint32_t row) {
  return ((uint64_t)m->s.p[row].r[T_ARR] + 1) * fw_tim_q(m, row);
}

static void fw_tim_schedule(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  uint64_t next = FW_NEVER;
  if (p->r[T_CR1] & 1 && p->r[T_ARR]) {
    uint64_t q = fw_tim_q(m, row), period = fw_tim_period(m, row), since = m->s.now - p->start;
    if (p->r[T_DIER] & 0x5F5F) next = p->start + period; /* events matter only if somebody is told */
    for (int c = 0; c < 4; c++) {
      uint32_t mode = p->r[c < 2 ? T_CCMR1 : T_CCMR2] >> 8 * (c & 1) & 3;
      if (mode || !(p->r[T_DIER] >> (c + 1) & 1)) continue;
      uint64_t at = p->start + (uint64_t)p->r[T_CCR1 + c] * q;
      if (p->r[T_CCR1 + c] <= p->r[T_ARR] && (uint64_t)p->r[T_CCR1 + c] * q > since && at < next) next = at;
    }
  }
  fw_at(m, row, next);
}

static void fw_tim_irq(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  if (p->r[T_SR] & p->r[T_DIER] & 1) fw_line_irq(m, row);
  if (p->r[T_SR] & p->r[T_DIER] & 0x1E) fw_raise(m, m->row[row].irq2 != 255 ? m->row[row].irq2 : m->row[row].irq);
}

/* Bring count and flags up to now. */
static void fw_tim_settle(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  if (!(p->r[T_CR1] & 1) || !p->r[T_ARR]) return;
  uint64_t q = fw_tim_q(m, row), period = fw_tim_period(m, row), since = m->s.now - p->start;
  for (int c = 0; c < 4; c++) {
    uint32_t mode = p->r[c < 2 ? T_CCMR1 : T_CCMR2] >> 8 * (c & 1) & 3;
    if (!mode && since / q >= p->r[T_CCR1 + c] && p->r[T_CCR1 + c] <= p->r[T_ARR] && !(p->left >> c & 1)) {
      p->r[T_SR] |= 2u << c;
      p->left |= 1u << c; /* this period's compare is done */
    }
  }
  if (since >= period) {
    p->start += since / period * period;
    p->left = 0;
    p->r[T_SR] |= 1;
    p->flags = p->r[T_PSC];
    if (p->r[T_CR1] & 8) { /* one pulse */
      p->r[T_CR1] &= ~1u;
      p->r[T_CNT] = 0;
    }
  }
  p->r[T_CNT] = (uint32_t)((m->s.now - p->start) / fw_tim_q(m, row));
  fw_tim_irq(m, row);
}

static void fw_tim_event(fw_machine *m, uint32_t row) {
  fw_tim_settle(m, row);
  fw_tim_schedule(m, row);
}

static uint32_t fw_tim_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  fw_tim_settle(m, row);
  if (o >= 0x34 && o <= 0x40) p->r[T_SR] &= ~(2u << (o - 0x34) / 4 & (p->r[o < 0x3C ? T_CCMR1 : T_CCMR2] >> 8 * ((o - 0x34) / 4 & 1) & 3 ? ~0u : 0));
  return p->r[o >> 2];
}

static void fw_tim_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  fw_tim_settle(m, row);
  uint32_t running = p->r[T_CR1] & 1, count = p->r[T_CNT];
  if (o == 0x10) p->r[T_SR] &= v;
  else if (o == 0x14) {
    if (v & 1) {
      p->flags = p->r[T_PSC];
      p->start = m->s.now;
      p->r[T_CNT] = p->left = 0;
      if (!(p->r[T_CR1] & 4)) p->r[T_SR] |= 1;
      fw_tim_irq(m, row);
    }
    for (int c = 0; c < 4; c++) if (v >> (c + 1) & 1) p->r[T_SR] |= 2u << c;
  } else p->r[o >> 2] = v;
  if (o == 0 && !running && v & 1) {
    p->start = m->s.now - (uint64_t)count * fw_tim_q(m, row);
    p->left = 0;
  }
  if (o == 0x24) { p->start = m->s.now - (uint64_t)v * fw_tim_q(m, row); p->left = 0; }
  if (o == 0x28 && !running) p->flags = v;
  if (o >= 0x34 && o <= 0x40) { /* a compare ahead may come again */
    uint32_t c = (o - 0x34) / 4;
    if (v > p->r[T_CNT]) p->left &= ~(1u << c);
  }
  fw_tim_irq(m, row);
  fw_tim_schedule(m, row);
}

/* An edge that the world makes at the input of a channel (1 to 4) now. */
FW_EXPORT void fw_capture(fw_machine *m, uint32_t number, uint32_t channel, uint32_t rising) {
  uint32_t row = fw_row_of(m, FW_TIM, number), c = channel - 1;
  if (row == FW_PERIPHERALS || c > 3 || m->s.p[row].dead) return;
  fw_peripheral *p = &m->s.p[row];
  fw_tim_settle(m, row);
  uint32_t mode = p->r[c < 2 ? T_CCMR1 : T_CCMR2] >> 8 * (c & 1) & 3, enable = p->r[T_CCER] >> 4 * c;
  if (!mode || !(enable & 1) || (!(enable & 8) && (enable >> 1 & 1) == rising)) return;
  if (p->r[T_SR] >> (c + 1) & 1) p->r[T_SR] |= 0x200u << c; /* overcapture */
  p->r[T_CCR1 + c] = p->r[T_CNT];
  p->r[T_SR] |= 2u << c;
  fw_tim_irq(m, row);
}

/* High time of a PWM channel in seconds; negative while the channel or the timer is off. */
FW_EXPORT double fw_pwm_s(fw_machine *m, uint32_t number, uint32_t channel) {
  uint32_t row = fw_row_of(m, FW_TIM, number), c = channel - 1;
  if (row == FW_PERIPHERALS || c > 3) return -1.0;
  fw_peripheral *p = &m->s.p[row];
  uint32_t mode = p->r[c < 2 ? T_CCMR1 : T_CCMR2] >> 8 * (c & 1);
  if (p->dead || !(p->r[T_CR1] & 1) || !(p->r[T_CCER] >> 4 * c & 1) || mode & 3 || (mode >> 4 & 6) != 6) return -1.0;
  return (double)p->r[T_CCR1 + c] * (double)fw_tim_q(m, row) / FW_Q / m->s.hz;
}
