/* Analog to digital converters [RM0090] 13: regular sequences, single and continuous, with end of conversion and DMA.
 * Voltages come from the world.  Not modelled: injected channels, watchdog, triggers by timers, noise. */
enum { A_SR, A_CR1, A_CR2, A_SQR1 = 11, A_SQR2, A_SQR3, A_DR = 19 };

static void fw_adc_start(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  static const uint16_t cycles[8] = {3, 15, 28, 56, 84, 112, 144, 480};
  uint32_t n = p->left, channel = p->r[n < 6 ? A_SQR3 : n < 12 ? A_SQR2 : A_SQR1] >> 5 * (n % 6) & 31;
  uint32_t time = channel < 10 ? p->r[4] >> 3 * channel & 7 : channel < 19 ? p->r[3] >> 3 * (channel - 10) & 7 : 0;
  uint32_t common = fw_row_of(m, FW_ADC, 1), divide = common == FW_PERIPHERALS ? 0 : m->s.p[common].r[0x304 / 4] >> 16 & 3;
  p->shift = channel;
  p->step = 1;
  fw_at(m, row, m->s.now + (12ull + cycles[time]) * (2 * divide + 2) * fw_bus_q(m, m->row[row].bus));
}

static void fw_adc_event(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  m->s.next[row] = FW_NEVER;
  p->step = 0;
  double share = p->shift < 24 ? m->s.adc_V[p->shift] / m->vref_V : 0.0;
  uint32_t bits = 12 - 2 * (p->r[A_CR1] >> 24 & 3), top = (1u << bits) - 1;
  p->r[A_DR] = !(share > 0.0) ? 0 : share >= 1.0 ? top : (uint32_t)(share * top + 0.5);
  uint32_t length = p->r[A_CR1] & 0x100 ? (p->r[A_SQR1] >> 20 & 15) + 1 : 1, last = ++p->left >= length;
  if (p->r[A_CR2] & 0x100) fw_dma_ask(m, row, 0);
  if (last || p->r[A_CR2] & 0x400) {
    p->r[A_SR] |= 2;
    if (p->r[A_CR1] & 0x20) fw_line_irq(m, row);
  }
  if (last) p->left = 0;
  if (!last || p->r[A_CR2] & 2) fw_adc_start(m, row);
}

static uint32_t fw_adc_read(fw_machine *m, uint32_t row, uint32_t o) {
  if (o == 0x4C) m->s.p[row].r[A_SR] &= ~2u;
  return m->s.p[row].r[o >> 2];
}

static void fw_adc_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0) { p->r[A_SR] &= v; return; }
  p->r[o >> 2] = v;
  if (o == 8 && v & 0x40000000u && v & 1) {
    p->r[A_CR2] &= ~0x40000000u;
    p->r[A_SR] |= 16;
    p->left = 0;
    fw_adc_start(m, row);
  }
}
