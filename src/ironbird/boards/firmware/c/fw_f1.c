/* What differs in the first generation [RM0041], STM32F100: reset and clock control, ports, DMA channels, flash, and how a
 * conversion begins.  Ports, DMA and flash keep their state where those of an STM32F4 have it (fw_gpio.c, fw_dma.c,
 * fw_flash.c), and only their registers are translated.  Serial ports, SPI, I2C, timers, external interrupts and
 * the watchdog are the same.  Not modelled: locks of ports, remapping of pins, option bytes, injected conversions. */

static void fw_rcc1_tree(fw_machine *m, fw_peripheral *p) {
  uint32_t cfgr = p->r[1], sw = cfgr & 3, times = (cfgr >> 18 & 15) + 2;
  static const uint16_t ahb[16] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 16, 64, 128, 256, 512};
  double pll = (cfgr >> 16 & 1 ? m->hse_Hz / ((p->r[11] & 14) + (cfgr >> 17 & 1) + 1) : 4e6) * (times > 16 ? 16 : times);
  uint32_t a = cfgr >> 8 & 7, b = cfgr >> 11 & 7;
  m->s.ahb = 1;
  m->s.apb1 = a < 4 ? 1 : 1u << (a - 3);
  m->s.apb2 = b < 4 ? 1 : 1u << (b - 3);
  fw_clock(m, (sw == 2 ? pll : sw == 1 ? m->hse_Hz : 8e6) / ahb[cfgr >> 4 & 15]);
}

static uint32_t fw_rcc1_read(fw_machine *m, uint32_t row, uint32_t o) {
  uint32_t v = m->s.p[row].r[o >> 2];
  if (o == 0x00) return v | (v & 1) << 1 | (v & 0x10000) << 1 | (v & 0x1000000) << 1;
  if (o == 0x04) return (v & ~0xCu) | (v & 3) << 2;
  if (o == 0x20) return v | (v & 1) << 1;
  if (o == 0x24) return v | (v & 1) << 1 | m->s.reset_flags << 24;
  return v;
}

static void fw_rcc1_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0x24 && v >> 24 & 1) m->s.reset_flags = 0;
  p->r[o >> 2] = v;
  if (o == 0x04) p->r[11] = (p->r[11] & ~1u) | (v >> 17 & 1); /* PLLXTPRE is the lowest bit of PREDIV1 */
  if (o == 0x2C) p->r[1] = (p->r[1] & ~0x20000u) | (v & 1) << 17;
  if (o <= 0x04 || o == 0x2C) fw_rcc1_tree(m, p);
  if (o == 0x0C || o == 0x10)
    for (uint32_t i = 0; i < m->rows; i++)
      if (m->row[i].enable_at == o + 0x0C && v >> m->row[i].enable_bit & 1) fw_reset_row(m, i);
}

/* Ports: CRL and CRH are kept in r[8] and r[9]. */
static void fw_gpio1_modes(fw_peripheral *p) {
  p->r[0] = p->r[1] = p->r[3] = 0;
  for (uint32_t n = 0; n < 16; n++) {
    uint32_t c = p->r[8 + n / 8] >> 4 * (n % 8) & 15, kind = c >> 2;
    if (c & 3) {
      p->r[0] |= (kind & 2 ? 2u : 1u) << 2 * n;
      p->r[1] |= (kind & 1) << n;
    } else if (kind == 2) p->r[3] |= (p->r[5] >> n & 1 ? 1u : 2u) << 2 * n; /* pulled by its output bit */
  }
}

static uint32_t fw_gpio1_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  return o < 8 ? p->r[8 + o / 4] : o == 8 ? fw_gpio_read(m, row, 0x10) : o == 12 ? p->r[5] : 0;
}

static void fw_gpio1_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o < 8) p->r[8 + o / 4] = v;
  if (o == 0x0C) fw_gpio_write(m, row, 0x14, v);
  if (o == 0x10) fw_gpio_write(m, row, 0x18, v);
  if (o == 0x14) fw_gpio_write(m, row, 0x18, v << 16);
  fw_gpio1_modes(p);
}

/* DMA: channel n is stream n - 1 with request 0. */
static uint32_t fw_dma1_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t v = 0;
  if (o < 8) {
    for (uint32_t s = 0; o == 0 && s < 7; s++) {
      uint32_t f = p->r[s / 4] >> fw_dma_shift[s % 4];
      uint32_t got = (f >> 5 & 1) << 1 | (f >> 4 & 1) << 2 | (f >> 3 & 1) << 3;
      v |= (got | (got != 0)) << 4 * s;
    }
    return v;
  }
  uint32_t s = (o - 8) / 20, field = (o - 8) % 20 / 4;
  if (s > 6 || field > 3) return 0;
  if (field) return p->r[4 + 6 * s + field];
  v = p->r[128 + s];
  return p->r[4 + 6 * s] & 1 ? v : v & ~1u; /* a channel that came to its end stays on in EN, and moves nothing */
}

static void fw_dma1_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 4) {
    for (uint32_t s = 0; s < 7; s++) {
      uint32_t c = v >> 4 * s & 15, f = c & 1 ? 0x3Du : (c >> 1 & 1) << 5 | (c >> 2 & 1) << 4 | (c >> 3 & 1) << 3;
      p->r[s / 4] &= ~(f << fw_dma_shift[s % 4]);
    }
    return;
  }
  uint32_t s = (o - 8) / 20, field = (o - 8) % 20 / 4;
  if (o < 8 || s > 6 || field > 3) return;
  if (field) { fw_dma_write(m, row, 16 + 24 * s + 4 * field, v); return; }
  p->r[128 + s] = v;
  uint32_t way = v >> 14 & 1 ? 2 : v >> 4 & 1;
  uint32_t cr = (v & 1) | (v >> 1 & 1) << 4 | (v >> 2 & 1) << 3 | (v >> 3 & 1) << 2 | way << 6 | (v >> 5 & 1) << 8 | (v >> 6 & 3) << 9 |
                (v >> 8 & 3) << 11 | (v >> 10 & 3) << 13;
  if (v & 1) fw_dma_write(m, row, 16 + 24 * s, cr);
  else p->r[4 + 6 * s] = cr; /* no flag when it is stopped on its way */
}

/* Flash: pages of 1 KiB, half words.  r[8] is CR, r[4] the lock and PG as fw_flash.c wants them. */
static uint32_t fw_flash1_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 12) return p->r[3] >> 7 & 1 ? 4 : p->r[9]; /* PGERR, or EOP */
  return o == 16 ? (p->r[8] & ~0xC0u) | p->r[4] >> 31 << 7 : p->r[o >> 2];
}

static void fw_flash1_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 4) fw_flash_write(m, row, 4, v);
  else if (o == 12) {
    if (v & 4) p->r[3] = 0;
    p->r[9] &= ~v;
  } else if (o == 16) {
    if (p->r[4] >> 31) return;
    p->r[8] = v;
    p->r[4] = (v >> 7 & 1) << 31 | (v & 1);
    fw_apply_stop(m);
    if (v & 0x40 && v & 6) {
      uint32_t size = v & 4 ? m->memory[0].size : 1024, from = v & 4 ? 0 : (p->r[5] - m->memory[0].base) & ~1023u;
      if (from + size <= m->memory[0].size) for (uint32_t i = 0; i < size; i++) m->bytes[0][from + i] = 0xFF;
      m->s.wrote_flash |= 2;
      p->r[9] |= 0x20;
      m->s.now += (uint64_t)(m->s.hz * 0.02) * FW_Q; /* the core stalls */
    }
  } else p->r[o >> 2] = v;
}

static void fw_adc1_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t on = p->r[A_CR2] & 1;
  if (o != 8) { fw_adc_write(m, row, o, v); return; }
  p->r[A_CR2] = v & ~0x40000Cu; /* calibrated at once */
  if ((v & 1) && on && (v & 0x500000) == 0x500000) { /* SWSTART with EXTTRIG */
    p->left = 0;
    fw_adc_start(m, row);
  }
}
