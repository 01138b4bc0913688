/* Ports, external interrupt lines and their selection [RM0090] 8, 9.2, 12. A pin from outside is a level; pulls count
 * where nothing drives (level 2).  Not modelled: alternate functions on pins (peripherals are wired by the board file),
 * speed, locks. */

static uint32_t fw_pin(fw_machine *m, uint32_t row, uint32_t n) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t mode = p->r[0] >> 2 * n & 3, outside = m->s.pin_level[(m->row[row].number * 16 + n) % FW_PINS];
  if (mode == 1 && !(p->r[1] >> n & 1 && p->r[5] >> n & 1)) return p->r[5] >> n & 1;
  if (outside != 2) return outside;
  return (p->r[3] >> 2 * n & 3) == 1;
}

static uint32_t fw_gpio_read(fw_machine *m, uint32_t row, uint32_t o) {
  if (o != 0x10) return m->s.p[row].r[o >> 2];
  uint32_t v = 0;
  for (uint32_t n = 0; n < 16; n++) v |= fw_pin(m, row, n) << n;
  return v;
}

static void fw_gpio_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t before = p->r[5];
  if (o == 0x18) p->r[5] = ((before & ~(v >> 16)) | (v & 0xFFFF)) & 0xFFFF;
  else if (o == 0x14) p->r[5] = v & 0xFFFF;
  else p->r[o >> 2] = v;
  uint32_t changed = before ^ p->r[5];
  for (uint32_t n = 0; changed; n++, changed >>= 1)
    if (changed & 1) {
      fw_select(m, m->row[row].number * 16 + n, p->r[5] >> n & 1);
      fw_exti_edge(m, n, m->row[row].number, p->r[5] >> n & 1);
    }
}

static uint32_t fw_row_of(fw_machine *m, uint32_t kind, uint32_t number) {
  for (uint32_t i = 0; i < m->rows; i++)
    if (m->row[i].kind == kind && m->row[i].number == number) return i;
  return FW_PERIPHERALS;
}

static void fw_exti_raise(fw_machine *m, uint32_t row, uint32_t line) {
  fw_peripheral *p = &m->s.p[row];
  p->r[5] |= 1u << line;
  if (!(p->r[0] >> line & 1)) return;
  static const uint8_t irq[23] = {6, 7, 8, 9, 10, 23, 23, 23, 23, 23, 40, 40, 40, 40, 40, 40, 1, 41, 42, 61, 76, 2, 3};
  if (line < 23) fw_raise(m, irq[line]);
}

static void fw_exti_edge(fw_machine *m, uint32_t line, uint32_t port, uint32_t rising) {
  uint32_t row = fw_row_of(m, FW_EXTI, 0), config = fw_row_of(m, FW_SYSCFG, 0);
  if (row == FW_PERIPHERALS || m->s.p[row].dead) return;
  uint32_t chosen = config == FW_PERIPHERALS ? 0 : m->s.p[config].r[2 + line / 4] >> 4 * (line % 4) & 15;
  fw_peripheral *p = &m->s.p[row];
  if (chosen == port && p->r[rising ? 2 : 3] >> line & 1) fw_exti_raise(m, row, line);
}

static void fw_exti_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0x14) { p->r[5] &= ~v; return; }
  p->r[o >> 2] = v;
  if (o == 0x10)
    for (uint32_t n = 0; n < 23; n++)
      if (v >> n & 1) fw_exti_raise(m, row, n);
}

/* The level of a pin as the world drives it: 0, 1, or 2 for nobody. */
FW_EXPORT void fw_drive_pin(fw_machine *m, uint32_t pin, uint32_t level) {
  uint32_t row = fw_row_of(m, FW_GPIO, pin / 16);
  if (pin >= FW_PINS || row == FW_PERIPHERALS) return;
  uint32_t before = fw_pin(m, row, pin % 16);
  m->s.pin_level[pin] = level;
  uint32_t after = fw_pin(m, row, pin % 16);
  if (before != after) fw_exti_edge(m, pin % 16, pin / 16, after);
}
