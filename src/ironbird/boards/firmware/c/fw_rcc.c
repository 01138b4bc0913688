/* Reset and clock control and power control of STM32F4 [RM0090] 5 and 7: oscillators are ready as soon as they are on,
 * the tree gives the clocks that everything counts in. */

static void fw_rcc_tree(fw_machine *m, fw_peripheral *p) {
  uint32_t cfgr = p->r[2], pll = p->r[1], sw = cfgr & 3;
  double source = pll >> 22 & 1 ? m->hse_Hz : 16e6, hz = 16e6;
  if (sw == 1) hz = m->hse_Hz;
  if (sw == 2) {
    uint32_t divide = pll & 63, times = pll >> 6 & 511, post = 2 * ((pll >> 16 & 3) + 1);
    if (divide >= 2 && times >= 50) hz = source / divide * times / post;
  }
  uint32_t h = cfgr >> 4 & 15, a = cfgr >> 10 & 7, b = cfgr >> 13 & 7;
  static const uint16_t ahb[16] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 16, 64, 128, 256, 512};
  m->s.ahb = 1; /* the core runs on HCLK: divided here, not by everybody */
  m->s.apb1 = a < 4 ? 1 : 1u << (a - 3);
  m->s.apb2 = b < 4 ? 1 : 1u << (b - 3);
  fw_clock(m, hz / ahb[h]);
}

static uint32_t fw_rcc_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t v = p->r[o >> 2];
  if (o == 0x00) return v | (v & 1) << 1 | (v & 0x10000) << 1 | (v & 0x1000000) << 1 | (v & 0x4000000) << 1;
  if (o == 0x08) return (v & ~0xCu) | (v & 3) << 2;
  if (o == 0x70) return v | (v & 1) << 1;
  if (o == 0x74) return v | (v & 1) << 1 | m->s.reset_flags << 24;
  return v;
}

static void fw_rcc_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0x74 && v >> 24 & 1) m->s.reset_flags = 0; /* RMVF */
  p->r[o >> 2] = v;
  if (o <= 0x08) fw_rcc_tree(m, p);
  if (o >= 0x10 && o <= 0x24) /* reset registers: those of the enable registers 32 bytes on */
    for (uint32_t i = 0; i < m->rows; i++)
      if (m->row[i].enable_at == o + 0x20 && v >> m->row[i].enable_bit & 1) fw_reset_row(m, i);
}

static uint32_t fw_pwr_read(fw_machine *m, uint32_t row, uint32_t o) {
  return o == 4 ? m->s.p[row].r[1] | 1u << 14 | (m->s.p[row].r[0] >> 16 & 3) << 16 : m->s.p[row].r[o >> 2]; /* VOSRDY, ODRDY */
}
