/* Memory, buses, the loop that runs the core between events, snapshots. */
static const uint8_t fw_class[256] = {[0xBF] = 1, [0xB6] = 1, [0xF3] = 1, [0xE7] = 1};
enum { FW_STOPPED_NO, FW_STOPPED, FW_WAITS, FW_SPINS, FW_AT_BREAK };
enum { FW_MASKS = 1, FW_ENDS_WAITING = 2, FW_TURNS = 4 }; /* a block changes mask registers; ends with WFI; is a branch to itself */

static double fw_ns(fw_machine *m, uint64_t q) {
  return m->s.anchor_ns + (double)(int64_t)(q - m->s.anchor_q) / FW_Q * 1e9 / m->s.hz;
}

/* The first q at or after a moment. */
static uint64_t fw_q(fw_machine *m, double ns) {
  double q = (ns - m->s.anchor_ns) * m->s.hz / 1e9 * FW_Q;
  if (q <= 0.0) return m->s.anchor_q;
  uint64_t whole = (uint64_t)q;
  return m->s.anchor_q + whole + ((double)whole < q - 1e-3);
}

static void fw_clock(fw_machine *m, double nominal) {
  double hz = nominal * (1.0 + m->s.drift), ratio = hz / m->s.hz;
  if (hz == m->s.hz) return;
  uint64_t now = m->s.now;
  double here = fw_ns(m, now);
  m->s.anchor_ns = here;
  m->s.anchor_q = now;
  m->s.hz = hz;
  for (int i = 0; i < 16; i++) { /* what comes from outside keeps its moments */
    fw_line *l = &m->s.line[i];
    for (uint32_t k = l->in_read; k != l->in_write; k++)
      if (l->at[k % FW_RING] > now) l->at[k % FW_RING] = now + (uint64_t)((double)(l->at[k % FW_RING] - now) * ratio);
    if (l->free > now) l->free = now + (uint64_t)((double)(l->free - now) * ratio);
  }
  for (uint32_t i = 0; i < m->rows; i++) {
    if (m->row[i].kind == FW_USART) fw_usart_schedule(m, i);
    if (m->row[i].kind == FW_IWDG && m->s.next[i] != FW_NEVER)
      m->s.next[i] = now + (uint64_t)((double)(m->s.next[i] - now) * ratio);
  }
  fw_apply_stop(m);
}

static uint8_t *fw_host(fw_machine *m, uint32_t address, uint32_t size) {
  for (uint32_t i = 0; i < m->memories; i++) {
    uint32_t at = address - m->memory[i].base;
    if (at < m->memory[i].size && at + size <= m->memory[i].size) return m->bytes[i] + at;
    if (m->memory[i].alias != UINT32_MAX) {
      at = address - m->memory[i].alias;
      if (at < m->memory[i].size && at + size <= m->memory[i].size) return m->bytes[i] + at;
    }
  }
  return 0;
}

/* ------------------------------------------------------------------ peripherals */

static int fw_gated(fw_machine *m, uint32_t row) { /* its clock is off */
  uint32_t at = m->row[row].enable_at, rcc = fw_row_of(m, FW_RCC, 0);
  return at && rcc != FW_PERIPHERALS && !(m->s.p[rcc].r[at / 4] >> m->row[row].enable_bit & 1);
}

/* The number of the peripheral at an address, plus one; 0 for nobody. */
static uint32_t fw_placed(fw_machine *m, uint32_t address) {
  uint32_t at = (address & 0x0FFFFFFFu) >> 10;
  if (address >> 28 == 4) return at < 2048 ? m->place[at] : 0;
  return address >> 28 == 5 && at < 512 ? m->place[2048 + at] : 0;
}

static uint32_t fw_peripheral_read(fw_machine *m, uint32_t address, uint32_t size) {
  uint32_t row = fw_placed(m, address), v;
  if (!row--) return 0;
  uint32_t o = address - m->row[row].base, word = o & ~3u;
  if (m->s.p[row].dead) { m->s.p[row].refused++; return 0; }
  if (fw_gated(m, row)) return 0;
  m->s.p[row].touched[word >> 7 & 7] |= 1u << (word >> 2 & 31);
  switch (m->row[row].kind) {
    case FW_RCC: v = m->first ? fw_rcc1_read(m, row, word) : fw_rcc_read(m, row, word); break;
    case FW_PWR: v = fw_pwr_read(m, row, word); break;
    case FW_GPIO: v = m->first ? fw_gpio1_read(m, row, word) : fw_gpio_read(m, row, word); break;
    case FW_DMA: v = m->first ? fw_dma1_read(m, row, word) : m->s.p[row].r[word >> 2]; break;
    case FW_FLASH: v = m->first ? fw_flash1_read(m, row, word) : m->s.p[row].r[word >> 2]; break;
    case FW_USART: v = fw_usart_read(m, row, word); break;
    case FW_SPI: v = fw_spi_read(m, row, word); break;
    case FW_I2C: v = fw_i2c_read(m, row, word); break;
    case FW_TIM: v = fw_tim_read(m, row, word); break;
    case FW_ADC: v = fw_adc_read(m, row, word); break;
    case FW_OTG: v = fw_otg_read(m, row, word); break;
    case FW_RNG: v = fw_rng_read(m, row, word); break;
    case FW_RTC: v = fw_rtc_read(m, row, word); break;
    case FW_OTHER: m->s.unmodelled++; /* fall through */
    default: v = m->s.p[row].r[word >> 2];
  }
  v >>= 8 * (o & 3);
  return size == 4 ? v : v & ((1u << 8 * size) - 1);
}

static void fw_peripheral_write(fw_machine *m, uint32_t address, uint32_t size, uint32_t v) {
  uint32_t row = fw_placed(m, address);
  if (!row--) return;
  uint32_t o = address - m->row[row].base, word = o & ~3u, kind = m->row[row].kind;
  if (m->s.p[row].dead) { m->s.p[row].refused++; return; }
  if (fw_gated(m, row)) return;
  m->s.p[row].touched[word >> 7 & 7] |= 1u << (word >> 2 & 31);
  if (size < 4) {
    uint32_t mask = ((1u << 8 * size) - 1) << 8 * (o & 3);
    int data = (kind == FW_USART && word == 4) || (kind == FW_SPI && word == 12) || (kind == FW_GPIO && word == (m->first ? 0x10 : 0x18));
    v = (v << 8 * (o & 3) & mask) | (data ? 0 : m->s.p[row].r[word >> 2] & ~mask);
  }
  switch (kind) {
    case FW_RCC: (m->first ? fw_rcc1_write : fw_rcc_write)(m, row, word, v); break;
    case FW_GPIO: (m->first ? fw_gpio1_write : fw_gpio_write)(m, row, word, v); break;
    case FW_EXTI: fw_exti_write(m, row, word, v); break;
    case FW_USART: fw_usart_write(m, row, word, v); break;
    case FW_SPI: fw_spi_write(m, row, word, v); break;
    case FW_I2C: fw_i2c_write(m, row, word, v); break;
    case FW_TIM: fw_tim_write(m, row, word, v); break;
    case FW_DMA: (m->first ? fw_dma1_write : fw_dma_write)(m, row, word, v); break;
    case FW_ADC: (m->first ? fw_adc1_write : fw_adc_write)(m, row, word, v); break;
    case FW_FLASH: (m->first ? fw_flash1_write : fw_flash_write)(m, row, word, v); break;
    case FW_IWDG: fw_iwdg_write(m, row, word, v); break;
    case FW_OTG: fw_otg_write(m, row, word, v); break;
    case FW_CRC: fw_crc_write(m, row, word, v); break;
    case FW_RTC: fw_rtc_write(m, row, word, v); break;
    case FW_OTHER: m->s.unmodelled++; /* fall through */
    default: m->s.p[row].r[word >> 2] = v;
  }
}

static void fw_event(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  if (p->dead) {
    m->s.next[row] = FW_NEVER;
    if (m->row[row].kind == FW_USART) fw_usart_lose(m, row);
    return;
  }
  switch (m->row[row].kind) {
    case FW_USART: fw_usart_event(m, row); break;
    case FW_SPI: fw_spi_event(m, row); break;
    case FW_I2C: fw_i2c_event(m, row); break;
    case FW_TIM: fw_tim_event(m, row); break;
    case FW_ADC: fw_adc_event(m, row); break;
    case FW_IWDG: m->s.next[row] = FW_NEVER; fw_reset(m, 1u << 5); break;
    default: m->s.next[row] = FW_NEVER;
  }
}

/* Interrupt lines are levels: what its handler left uncleared asks again. */
static void fw_relevel(fw_machine *m, uint32_t irq) {
  for (uint32_t i = 0; i < m->rows; i++) {
    fw_peripheral *p = &m->s.p[i];
    if (p->dead) continue;
    int ours = m->row[i].irq == irq || m->row[i].irq2 == irq;
    switch (m->row[i].kind) {
      case FW_USART: if (ours && fw_usart_irq(m, i)) fw_line_irq(m, i); break;
      case FW_SPI: if (ours) fw_spi_irq(m, i); break;
      case FW_I2C: if (ours) fw_i2c_irq(m, i); break;
      case FW_TIM: if (ours) fw_tim_irq(m, i); break;
      case FW_ADC: if (ours && p->r[A_SR] & 2 && p->r[A_CR1] & 0x20) fw_line_irq(m, i); break;
      case FW_EXTI:
        for (uint32_t n = 0; n < 23; n++) if (p->r[5] & p->r[0] & 1u << n) fw_exti_raise(m, i, n);
        break;
      case FW_DMA:
        for (uint32_t s = 0; s < 8; s++) {
          uint32_t f = p->r[s / 4] >> fw_dma_shift[s % 4], cr = p->r[4 + 6 * s];
          if (f & 0x20 && cr & 16) fw_dma_flag(m, i, s, 3);
          if (f & 0x10 && cr & 8) fw_dma_flag(m, i, s, 2);
        }
        break;
    }
  }
}

/* ------------------------------------------------------------------ buses */

static uint32_t fw_bus_read(fw_machine *m, uint32_t a, uint32_t size) {
  uint8_t *at = fw_host(m, a, size);
  if (at) {
    uint32_t v = 0;
    for (uint32_t i = 0; i < size; i++) v |= (uint32_t)at[i] << 8 * i;
    return v;
  }
  return a >> 28 == 4 || a >> 28 == 5 ? fw_peripheral_read(m, a, size) : 0;
}

static void fw_bus_write(fw_machine *m, uint32_t a, uint32_t size, uint32_t value) {
  uint8_t *at = fw_host(m, a, size);
  if (at && a >> 24 != 8) for (uint32_t i = 0; i < size; i++) at[i] = value >> 8 * i & 0xFF;
  else if (a >> 28 == 4 || a >> 28 == 5) fw_peripheral_write(m, a, size, value);
}

static uint64_t fw_read_io(uc_engine *uc, uint64_t o, unsigned size, void *user) {
  (void)uc;
  return fw_peripheral_read(user, 0x40000000u + (uint32_t)o, size);
}
static void fw_write_io(uc_engine *uc, uint64_t o, unsigned size, uint64_t v, void *user) {
  (void)uc;
  fw_peripheral_write(user, 0x40000000u + (uint32_t)o, size, (uint32_t)v);
}
static uint64_t fw_read_far(uc_engine *uc, uint64_t o, unsigned size, void *user) {
  (void)uc;
  return fw_peripheral_read(user, 0x50000000u + (uint32_t)o, size);
}
static void fw_write_far(uc_engine *uc, uint64_t o, unsigned size, uint64_t v, void *user) {
  (void)uc;
  fw_peripheral_write(user, 0x50000000u + (uint32_t)o, size, (uint32_t)v);
}
static uint64_t fw_read_system(uc_engine *uc, uint64_t o, unsigned size, void *user) {
  (void)uc;
  return fw_system_read(user, 0xE0000000u + (uint32_t)o, size);
}
static void fw_write_system(uc_engine *uc, uint64_t o, unsigned size, uint64_t v, void *user) {
  (void)uc;
  fw_system_write(user, 0xE0000000u + (uint32_t)o, size, (uint32_t)v);
}
/* Bit-band: each word is a bit of the first MiB of peripherals or SRAM. */
static uint64_t fw_read_bit(fw_machine *m, uint32_t base, uint64_t o) {
  return fw_bus_read(m, base + ((uint32_t)(o >> 5) & ~3u), 4) >> (o >> 2 & 31) & 1;
}
static void fw_write_bit(fw_machine *m, uint32_t base, uint64_t o, uint64_t v) {
  uint32_t a = base + ((uint32_t)(o >> 5) & ~3u), bit = 1u << (o >> 2 & 31), old = fw_bus_read(m, a, 4);
  fw_bus_write(m, a, 4, v & 1 ? old | bit : old & ~bit);
}
static uint64_t fw_read_iobit(uc_engine *uc, uint64_t o, unsigned size, void *user) { (void)uc; (void)size; return fw_read_bit(user, 0x40000000u, o); }
static void fw_write_iobit(uc_engine *uc, uint64_t o, unsigned size, uint64_t v, void *user) { (void)uc; (void)size; fw_write_bit(user, 0x40000000u, o, v); }
static uint64_t fw_read_rambit(uc_engine *uc, uint64_t o, unsigned size, void *user) { (void)uc; (void)size; return fw_read_bit(user, 0x20000000u, o); }
static void fw_write_rambit(uc_engine *uc, uint64_t o, unsigned size, uint64_t v, void *user) { (void)uc; (void)size; fw_write_bit(user, 0x20000000u, o, v); }

/* ------------------------------------------------------------------ the core and events */

static uint64_t fw_next(fw_machine *m) {
  uint64_t next = m->s.systick_next;
  for (uint32_t i = 0; i < m->rows; i++) if (m->s.next[i] < next) next = m->s.next[i];
  return next;
}

static void fw_events(fw_machine *m) {
  while (1) {
    uint64_t next = fw_next(m);
    if (next > m->s.now) return;
    if (m->s.systick_next == next) { fw_systick_event(m); continue; }
    for (uint32_t i = 0; i < m->rows; i++)
      if (m->s.next[i] == next) {
        uint64_t now = m->s.now;
        if (next < now) m->s.now = next; /* it happened then; the core sees it now */
        fw_event(m, i);
        if (m->s.now < now) m->s.now = now;
        break;
      }
  }
}

/* Do what is due; whether the core has to stand. */
static int fw_look(fw_machine *m) {
  fw_state *s = &m->s;
  if (s->wrote_flash) fw_flash_settle(m);
  fw_events(m);
  if (m->told || s->held || s->lockup || s->now >= s->run_until || m->flash_open != fw_flash_unlocked(m) || fw_due(m)) {
    m->wfi = FW_STOPPED;
    fw_uc.emu_stop(m->uc);
    return 1;
  }
  uint64_t next = fw_next(m);
  s->stop = m->watching ? 0 : next < s->run_until ? next : s->run_until;
  return 0;
}

static void fw_slow(fw_machine *m, uint32_t address, uint32_t op) {
  fw_state *s = &m->s;
  if (m->watching) {
    for (uint32_t i = 0; i < m->break_count; i++)
      if (m->breaks[i] == address && m->step_over != address + 1) {
        m->wfi = FW_AT_BREAK;
        fw_uc.emu_stop(m->uc);
        return;
      }
    m->step_over = 0;
    for (int i = 0; i < 8; i++)
      if (s->hang_on[i] && s->hang_at[i] == address && !s->it_left) {
        s->hang_hits[i]++;
        m->wfi = FW_SPINS;
        fw_uc.emu_stop(m->uc);
        return;
      }
  }
  if (s->it_left) { /* a block of conditional instructions is not left in its middle */
    s->it_left--;
    s->stop = 0;
    s->now += s->cpi;
    s->instructions++;
    return;
  }
  if (s->now >= s->stop && fw_look(m)) return;
  if (op == 0xBF30 || op == 0xE7FE) { /* WFI; a loop that only an interrupt ends */
    m->wfi = op == 0xBF30 ? FW_WAITS : FW_SPINS;
    fw_uc.emu_stop(m->uc);
    if (op == 0xBF30) s->now += s->cpi;
    return;
  }
  if ((op & 0xFF00) == 0xBF00 && (op & 15)) {
    s->it_left = 4 - (uint32_t)__builtin_ctz(op & 15);
    s->stop = 0;
  }
  if ((op & 0xFFE0) == 0xB660 || (op & 0xFFF0) == 0xF380) s->stop = 0; /* CPS, MSR: masks may have changed */
  s->now += s->cpi;
  s->instructions++;
}

static void fw_on_code(uc_engine *uc, uint64_t address, uint32_t size, void *user) {
  fw_machine *m = user;
  (void)uc; (void)size;
  uint32_t a = (uint32_t)address, op;
  uint32_t at = a - m->memory[0].base;
  m->last_pc = a;
  if (at < m->memory[0].size) op = *(uint16_t *)(m->bytes[0] + at);
  else {
    uint8_t *p = fw_host(m, a, 2);
    op = p ? *(uint16_t *)p : 0;
  }
  if (__builtin_expect(m->s.now >= m->s.stop || fw_class[op >> 8], 0)) {
    fw_slow(m, a, op);
    return;
  }
  m->s.now += m->s.cpi;
  m->s.instructions++;
}

/* Instructions of a block, times eight, and what they do to time. */
static uint32_t fw_read_block(fw_machine *m, uint32_t address, uint32_t size) {
  uint8_t *p = fw_host(m, address, size);
  uint32_t count = 0, does = 0;
  for (uint32_t i = 0; p && i + 2 <= size; count++) {
    uint32_t op = *(uint16_t *)(p + i);
    if ((op & 0xFFE0) == 0xB660 || (op & 0xFFF0) == 0xF380) does |= FW_MASKS;
    if (op == 0xBF30) does |= FW_ENDS_WAITING;
    if (op == 0xE7FE && !i) does |= FW_TURNS;
    i += op >= 0xE800 ? 4 : 2;
  }
  return count << 3 | does;
}

/* Before each basic block, if blocks are what is counted: its instructions are counted at once. */
static void fw_on_block(uc_engine *uc, uint64_t address, uint32_t size, void *user) {
  fw_machine *m = user;
  fw_state *s = &m->s;
  uint32_t a = (uint32_t)address;
  uint32_t place = (a - m->memory[0].base) >> 1, block;
  (void)uc;
  m->last_pc = a;
  if (__builtin_expect(place < FW_HALFWORDS && m->block[place], 1)) block = m->block[place];
  else {
    block = fw_read_block(m, a, size);
    if (place < FW_HALFWORDS && place < m->memory[0].size >> 1) { /* RAM may change */
      m->block[place] = (uint16_t)block;
      m->known = 1;
    }
  }
  if (__builtin_expect(s->now >= s->stop, 0)) {
    uint32_t inside = fw_reg(m, UC_ARM_REG_XPSR) & 0x0600FC00u; /* of a block of conditional instructions, which is not left in its middle */
    if (!inside && fw_look(m)) return;
  }
  if (__builtin_expect(block & 7, 0)) {
    if (block & FW_MASKS) s->stop = 0;
    m->waits = block & FW_ENDS_WAITING;
    if (block & FW_TURNS) {
      m->wfi = FW_SPINS;
      fw_uc.emu_stop(m->uc);
      return;
    }
  }
  s->now += (uint64_t)(block >> 3) * s->cpi;
  s->instructions += block >> 3;
}

static void fw_flush_code(fw_machine *m) {
  for (uint32_t i = 0; m->known && i < FW_HALFWORDS; i++) m->block[i] = 0;
  m->known = 0;
  fw_uc.ctl(m->uc, FW_CTL_FLUSH);
}

/* Instructions are counted one by one for breakpoints, hung tasks and while the flash is open.  Called while the core stands. */
static void fw_choose_pace(fw_machine *m) {
  uint32_t blocks = m->by_blocks && !m->watching && !m->flash_open;
  if (blocks == m->in_blocks) return;
  m->in_blocks = blocks;
  fw_uc.hook_del(m->uc, m->hook[0]);
  fw_uc.hook_add(m->uc, &m->hook[0], blocks ? FW_HOOK_BLOCK : FW_HOOK_CODE, blocks ? (void *)fw_on_block : (void *)fw_on_code, m, 1, 0);
  fw_flush_code(m);
}

static void fw_on_interrupt(uc_engine *uc, uint32_t number, void *user) {
  fw_machine *m = user;
  if (number == 2) m->s.svc = 1;
  else if (number == 8) m->s.returned = 1;
  else m->s.undefined = number + 1;
  fw_uc.emu_stop(uc);
}

static int fw_on_invalid(uc_engine *uc, int type, uint64_t address, int size, int64_t value, void *user) {
  fw_machine *m = user;
  (void)uc; (void)size; (void)value;
  m->s.faulted = (uint32_t)type + 1;
  m->s.fault_address = (uint32_t)address;
  return 0;
}

/* What the core may do with a page.  Unicorn looks for translated code at every store into a page that may hold
 * instructions: the RAMs are such only from the first instruction on that is fetched from one. */
static int fw_on_page(uc_engine *uc, uint64_t address, int type, fw_page *page, void *user) {
  fw_machine *m = user;
  (void)uc;
  page->at = address;
  page->may = 7;
  for (uint32_t i = 0; !m->ram_runs && i < m->memories; i++)
    if (m->memory[i].writable && (uint32_t)address - m->memory[i].base < m->memory[i].size) {
      if (type == FW_MEM_FETCH) return !(m->wants_ram = 1);
      page->may = 3;
    }
  /* Unicorn has set the conditional state to that of the instruction that accesses, and goes on behind it: it is none then */
  if (type != FW_MEM_FETCH) fw_set(m, UC_ARM_REG_EPSR, 0x01000000u);
  return 1;
}

static void fw_reset_row(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t dead = p->dead, refused = p->refused;
  uint32_t kept = m->row[row].kind == FW_RTC ? 20 : 0; /* the backup registers have a supply of their own */
  for (uint32_t k = 0; k < 256; k++) if (k < FW_BACKUP || k >= FW_BACKUP + kept) p->r[k] = 0;
  m->s.next[row] = FW_NEVER;
  p->start = p->step = p->shift = p->left = p->flags = 0;
  p->dead = dead;
  p->refused = refused;
  if (m->row[row].kind == FW_RCC) { p->r[0] = m->first ? 0x83 : 0x81; p->r[1] = m->first ? 0 : 0x24003010; }
  if (m->row[row].kind == FW_USART) p->r[0] = 0xC0;
  if (m->row[row].kind == FW_SPI) p->r[2] = 2;
  if (m->row[row].kind == FW_FLASH) p->r[4] = 0x80000000u;
  if (m->row[row].kind == FW_IWDG) p->r[2] = 0xFFF;
  if (m->row[row].kind == FW_CRC) p->r[0] = 0xFFFFFFFFu;
  if (m->row[row].kind == FW_RNG) p->shift = 1;
  if (m->row[row].kind == FW_GPIO && m->row[row].number == 0 && !m->first) p->r[0] = 0xA8000000u;
  if (m->row[row].kind == FW_GPIO && m->first) p->r[8] = p->r[9] = 0x44444444u; /* floating inputs */
  if (m->row[row].kind == FW_TIM) p->r[T_ARR] = m->row[row].number == 2 || m->row[row].number == 5 ? 0xFFFFFFFFu : 0xFFFF;
}

static void fw_reset(fw_machine *m, uint32_t flags) {
  fw_state *s = &m->s;
  for (uint32_t i = 0; i < FW_EXCEPTIONS; i++) s->priority[i] = s->enabled[i] = s->pending[i] = s->active[i] = 0;
  s->vtor = s->aircr = s->scr = s->shcsr = s->cfsr = s->hfsr = s->any_pending = s->lockup = s->held = s->sleeping = 0;
  s->svc = s->returned = s->faulted = s->undefined = s->it_left = s->dwt = s->demcr = s->cpacr = 0;
  s->ccr = 0x200;
  s->fpccr = 0xC0000000u;
  s->systick_control = s->systick_reload = s->systick_flag = 0;
  s->systick_next = FW_NEVER;
  for (uint32_t i = 0; i < m->rows; i++) fw_reset_row(m, i);
  s->ahb = s->apb1 = s->apb2 = 1;
  s->reset_flags |= flags;
  s->resets++;
  fw_clock(m, m->first ? 8e6 : 16e6);
  static const int zero[6] = {UC_ARM_REG_CONTROL, UC_ARM_REG_PRIMASK, UC_ARM_REG_BASEPRI, UC_ARM_REG_FAULTMASK, UC_ARM_REG_FPSCR, UC_ARM_REG_PSP};
  fw_set(m, UC_ARM_REG_XPSR, 0x01000000u);
  for (int i = 0; i < 6; i++) fw_set(m, zero[i], 0);
  for (int i = 0; i < 13; i++) fw_set(m, UC_ARM_REG_R0 + i, 0);
  int good = 1;
  uint32_t sp = fw_peek(m, m->boot, &good), pc = fw_peek(m, m->boot + 4, &good);
  fw_set(m, UC_ARM_REG_MSP, sp & ~3u);
  fw_set(m, UC_ARM_REG_LR, 0xFFFFFFFFu);
  fw_set(m, UC_ARM_REG_PC, pc | 1);
  s->vtor = m->boot;
  if (!good || !(pc & 1)) s->lockup = 1;
}

/* Run until a moment in ns; why it ended. */
FW_EXPORT int fw_run(fw_machine *m, double until_ns) {
  fw_state *s = &m->s;
  uint64_t still = 0, last = FW_NEVER;
  while (1) {
    s->run_until = fw_q(m, until_ns);
    if (s->held == 2) fw_reset(m, 1u << 4); /* SFTRSTF */
    if (s->wrote_flash) fw_flash_settle(m);
    if (s->halted) { s->now = s->run_until > s->now ? s->run_until : s->now; return FW_TIME; }
    fw_events(m);
    if (m->told) { m->told = 0; return FW_SENT; }
    if (s->now >= s->run_until) return FW_TIME;
    uint64_t next = fw_next(m);
    if (next > s->run_until) next = s->run_until;
    if (s->lockup) { s->now = next; continue; } /* only a reset helps; a watchdog may give it */
    uint32_t e = fw_due(m);
    if (e) {
      s->sleeping = 0;
      fw_enter(m, e);
      continue;
    }
    if (s->sleeping) {
      if (s->sleeping == 1 && fw_wakes(m)) s->sleeping = 0;
      else { s->now = next; continue; }
    }
    if (s->now == last) { if (++still > 100000) return FW_BROKEN; }
    else { still = 0; last = s->now; }
    fw_flash_guard(m);
    fw_choose_pace(m);
    s->stop = m->watching ? 0 : next;
    s->it_left = 0;
    m->wfi = FW_STOPPED_NO;
    m->waits = 0;
    uint32_t pc = fw_reg(m, UC_ARM_REG_PC);
    int error = fw_uc.emu_start(m->uc, pc | 1, FW_NOWHERE, 0, 0);
    if (s->svc) {
      s->svc = 0;
      if (fw_level(m, 1) <= fw_group(m, FW_SVC)) fw_fault(m, FW_HARD, 0, 0, m->last_pc);
      else fw_pend(m, FW_SVC);
      continue;
    }
    uint32_t at = fw_reg(m, UC_ARM_REG_PC);
    if (m->in_blocks && (s->undefined || s->faulted || error)) m->last_pc = at & ~1u; /* unicorn went back to the instruction */
    if (s->returned || (s->faulted && s->fault_address >= 0xFFFFFFE0u)) {
      uint32_t back = s->returned ? at : s->fault_address, number = fw_reg(m, UC_ARM_REG_XPSR) & 0x1FF;
      s->returned = s->faulted = 0;
      fw_return(m, back | 1);
      if (number >= 16 && !s->active[number]) fw_relevel(m, number - 16);
      continue;
    }
    if (s->undefined) {
      s->undefined = 0;
      fw_set(m, UC_ARM_REG_PC, m->last_pc | 1);
      fw_fault(m, FW_USAGE, 1u << 16, 0, m->last_pc);
      continue;
    }
    if (s->faulted == FW_MEM_WRITE_PROT + 1 && fw_flash_refused(m, s->fault_address)) {
      s->faulted = 0;
      continue;
    }
    if (error == FW_ERR_EXCEPTION && m->wants_ram) { /* the page that was refused in fw_on_page */
      m->ram_runs = 1;
      m->wants_ram = 0;
      fw_uc.ctl(m->uc, FW_CTL_TLB_FLUSH);
      continue;
    }
    if (s->faulted || error) {
      uint32_t fetch = s->faulted == FW_MEM_FETCH_UNMAPPED + 1 || s->faulted == FW_MEM_FETCH_PROT + 1, undefined = !s->faulted;
      s->faulted = 0;
      if (!fetch) fw_set(m, UC_ARM_REG_PC, m->last_pc | 1);
      if (undefined) fw_fault(m, FW_USAGE, 1u << 16, 0, m->last_pc);
      else fw_fault(m, FW_BUS, fetch ? 1u << 8 : 0x8200u, s->fault_address, m->last_pc); /* IBUSERR; PRECISERR, BFARVALID */
      continue;
    }
    if (m->wfi == FW_AT_BREAK) { m->broke_at = m->last_pc; return FW_BREAK; }
    if (m->wfi == FW_WAITS) {
      fw_set(m, UC_ARM_REG_PC, (m->last_pc + 2) | 1);
      s->sleeping = 1;
      s->instructions++;
    }
    if (m->wfi == FW_SPINS) s->sleeping = 2;
    if (m->wfi == FW_STOPPED_NO && m->waits) s->sleeping = 1; /* unicorn itself ends at WFI */
  }
}

/* ------------------------------------------------------------------ for the host */

FW_EXPORT void fw_bind(void *const *calls) {
  for (int i = 0; i < 12; i++) ((void **)&fw_uc)[i] = calls[i];
}

FW_EXPORT uint64_t fw_size(void) { return sizeof(fw_machine); }
FW_EXPORT uint64_t fw_state_size(void) { return sizeof(fw_state); }

/* A machine in memory of the host (zeroed), with its tables; 0, or unicorn's error. */
FW_EXPORT int fw_open(fw_machine *m, const fw_row *rows, uint32_t count, const fw_request *requests, uint32_t request_count,
                      const fw_memory *memories, uint8_t *const *bytes, uint32_t memory_count, double hse_Hz, double vref_V, uint32_t cpi,
                      uint32_t boot, uint32_t first, uint32_t debug_id) {
  m->boot = boot;
  m->rows = count;
  for (uint32_t i = 0; i < count; i++) {
    m->row[i] = rows[i];
    uint32_t at = (rows[i].base & 0x0FFFFFFFu) >> 10, far = rows[i].base >> 28 == 5;
    if (at < (far ? 512u : 2048u)) m->place[2048 * far + at] = (uint8_t)(i + 1);
  }
  m->requests = request_count;
  for (uint32_t i = 0; i < request_count; i++) m->request[i] = requests[i];
  m->hse_Hz = hse_Hz;
  m->vref_V = vref_V;
  m->s.cpi = cpi;
  m->first = first;
  m->debug_id = debug_id;
  m->s.hz = first ? 8e6 : 16e6;
  for (int i = 0; i < FW_PINS; i++) m->s.pin_level[i] = 2;
  int error = fw_uc.open(FW_ARCH_ARM, FW_MODE_MCLASS, &m->uc);
  if (error) return error;
  error = fw_uc.ctl(m->uc, FW_CTL_MODEL, first ? FW_CPU_M3 : FW_CPU_M4);
  m->memories = memory_count;
  for (uint32_t i = 0; i < memory_count && !error; i++) {
    m->memory[i] = memories[i];
    m->bytes[i] = bytes[i];
    uint32_t rights = memories[i].writable ? 7 : 5;
    error = fw_uc.mem_map_ptr(m->uc, memories[i].base, memories[i].size, rights, bytes[i]);
    if (!error && memories[i].alias != UINT32_MAX)
      error = fw_uc.mem_map_ptr(m->uc, memories[i].alias, memories[i].size, rights, bytes[i]);
  }
  if (!error) error = fw_uc.mmio_map(m->uc, 0x40000000u, 0x00200000u, fw_read_io, m, fw_write_io, m);
  if (!error) error = fw_uc.mmio_map(m->uc, 0x50000000u, 0x00080000u, fw_read_far, m, fw_write_far, m);
  if (!error) error = fw_uc.mmio_map(m->uc, 0xE0000000u, 0x00100000u, fw_read_system, m, fw_write_system, m);
  if (!error) error = fw_uc.mmio_map(m->uc, 0x42000000u, 0x02000000u, fw_read_iobit, m, fw_write_iobit, m);
  if (!error) error = fw_uc.mmio_map(m->uc, 0x22000000u, 0x02000000u, fw_read_rambit, m, fw_write_rambit, m);
  if (!error) error = fw_uc.hook_add(m->uc, &m->hook[0], FW_HOOK_CODE, fw_on_code, m, 1, 0);
  if (!error) error = fw_uc.hook_add(m->uc, &m->hook[1], FW_HOOK_INTR, fw_on_interrupt, m, 1, 0);
  for (uint64_t from = 0; !error && from <= UINT32_MAX;) { /* around the RAMs: a hook makes stores slow where it is */
    uint64_t base = 1ull << 32, end = base;
    for (uint32_t i = 0; i < memory_count; i++)
      if (memories[i].writable && memories[i].base >= from && memories[i].base < base) {
        base = memories[i].base;
        end = base + memories[i].size;
      }
    if (base > from) error = fw_uc.hook_add(m->uc, &m->hook[2], FW_HOOK_MEM_INVALID, fw_on_invalid, m, from, base - 1);
    from = end;
  }
  if (!error) error = fw_uc.ctl(m->uc, FW_CTL_TLB_TYPE, 1);
  if (!error) error = fw_uc.hook_add(m->uc, &m->hook[4], FW_HOOK_TLB_FILL, fw_on_page, m, 1, 0);
  m->flash_row = fw_row_of(m, FW_FLASH, 0);
  uint32_t on = 0x40000000u;
  if (!error && !first) error = fw_uc.reg_write(m->uc, UC_ARM_REG_FPEXC, &on);
  return error;
}

FW_EXPORT void fw_close(fw_machine *m) {
  if (m->uc) fw_uc.close(m->uc);
  m->uc = 0;
}

FW_EXPORT int fw_add_device(fw_machine *m, uint32_t peripheral, uint32_t is_spi, uint32_t pin, int64_t chip, void *model) {
  if (m->devices >= FW_DEVICES) return 1;
  fw_device *d = &m->device[m->devices++];
  d->peripheral = peripheral;
  d->is_spi = is_spi;
  d->select_pin = pin;
  d->chip = chip;
  d->model = model;
  return 0;
}

FW_EXPORT void fw_power_on(fw_machine *m, uint32_t flags) { fw_reset(m, flags); }
FW_EXPORT void fw_tell(fw_machine *m, uint32_t port_plus_one, uint32_t byte) { m->tell_port = port_plus_one; m->tell_byte = byte; }
FW_EXPORT void fw_hold(fw_machine *m, uint32_t held) { m->s.halted = held; }
FW_EXPORT double fw_time_ns(fw_machine *m) { return fw_ns(m, m->s.now); }
FW_EXPORT void fw_flush(fw_machine *m) { fw_flush_code(m); }
/* Look at time at the ends of basic blocks instead of after every instruction. */
FW_EXPORT void fw_by_blocks(fw_machine *m, uint32_t on) { m->by_blocks = on; }

static void fw_watch(fw_machine *m) {
  m->watching = m->break_count;
  for (int i = 0; i < 8; i++) m->watching |= m->s.hang_on[i];
}

FW_EXPORT int fw_break(fw_machine *m, const uint32_t *at, uint32_t count, uint32_t step_over) {
  if (count > FW_BREAKS) return 1;
  for (uint32_t i = 0; i < count; i++) m->breaks[i] = at[i];
  m->break_count = count;
  m->step_over = step_over;
  fw_watch(m);
  return 0;
}

FW_EXPORT void fw_hang(fw_machine *m, uint32_t slot, uint32_t at, uint32_t on) {
  m->s.hang_at[slot & 7] = at & ~1u;
  m->s.hang_on[slot & 7] = on;
  if (!on && m->s.sleeping == 2) m->s.sleeping = 0; /* it goes on from where it hangs */
  fw_watch(m);
}

FW_EXPORT void fw_kill(fw_machine *m, uint32_t row, uint32_t dead) {
  fw_peripheral *p = &m->s.p[row];
  p->dead = dead;
  if (m->row[row].kind == FW_USART) fw_usart_schedule(m, row);
}

FW_EXPORT void fw_drift(fw_machine *m, double share) {
  double nominal = m->s.hz / (1.0 + m->s.drift);
  m->s.drift = share;
  fw_clock(m, nominal);
}

FW_EXPORT void fw_analog(fw_machine *m, uint32_t channel, double volts) { if (channel < 24) m->s.adc_V[channel] = volts; }
FW_EXPORT uint32_t fw_output_pin(fw_machine *m, uint32_t pin) {
  uint32_t row = fw_row_of(m, FW_GPIO, pin / 16);
  return row == FW_PERIPHERALS ? 0 : fw_pin(m, row, pin % 16);
}
FW_EXPORT uint32_t fw_refused(fw_machine *m, uint32_t row) { return m->s.p[row].refused; }
FW_EXPORT uint32_t fw_peek_word(fw_machine *m, uint32_t address) { return fw_bus_read(m, address, 4); }

FW_EXPORT void fw_registers(fw_machine *m, fw_regs *g, int write) {
  uint32_t *all[] = {&g->control, &g->primask, &g->basepri, &g->faultmask, &g->fpscr};
  static const int names[] = {UC_ARM_REG_CONTROL, UC_ARM_REG_PRIMASK, UC_ARM_REG_BASEPRI, UC_ARM_REG_FAULTMASK, UC_ARM_REG_FPSCR};
  if (write) {
    fw_set(m, UC_ARM_REG_CONTROL, 0);
    fw_set(m, UC_ARM_REG_XPSR, g->xpsr | 0x01000000u);
    fw_set(m, UC_ARM_REG_MSP, g->msp);
    fw_set(m, UC_ARM_REG_PSP, g->psp);
  } else {
    g->xpsr = fw_reg(m, UC_ARM_REG_XPSR);
    g->msp = fw_reg(m, UC_ARM_REG_MSP);
    g->psp = fw_reg(m, UC_ARM_REG_PSP);
  }
  for (int i = 0; i < 5; i++) if (write) fw_set(m, names[i], *all[i]); else *all[i] = fw_reg(m, names[i]);
  for (int i = 0; i < 13; i++) if (write) fw_set(m, UC_ARM_REG_R0 + i, g->r[i]); else g->r[i] = fw_reg(m, UC_ARM_REG_R0 + i);
  if (write) fw_set(m, UC_ARM_REG_LR, g->lr); else g->lr = fw_reg(m, UC_ARM_REG_LR);
  for (int i = 0; i < 16; i++) if (write) fw_uc.reg_write(m->uc, UC_ARM_REG_D0 + i, &g->d[i]); else fw_uc.reg_read(m->uc, UC_ARM_REG_D0 + i, &g->d[i]);
  if (write) fw_set(m, UC_ARM_REG_PC, g->pc | 1); else g->pc = fw_reg(m, UC_ARM_REG_PC) & ~1u;
}

FW_EXPORT fw_state *fw_state_of(fw_machine *m) { return &m->s; }

/* What people ask for: numbers by place, see machine.py. */
FW_EXPORT void fw_figures(fw_machine *m, double *out) {
  fw_state *s = &m->s;
  double values[] = {fw_ns(m, s->now), (double)s->instructions, s->hz, s->resets, s->said_count, s->said_exception, s->said_pc,
                     s->said_cfsr, s->said_address, s->said_ns, s->lockup, s->deepest, s->unmodelled, s->reset_flags, s->sleeping, s->halted};
  for (int i = 0; i < 16; i++) out[i] = values[i];
}
FW_EXPORT uint64_t fw_upsets(fw_machine *m) { return (uint64_t)m->s.resets << 32 | m->s.said_count; }
FW_EXPORT uint32_t fw_entries(fw_machine *m, uint32_t exception) { return exception < FW_EXCEPTIONS ? m->s.entries[exception] : 0; }
FW_EXPORT uint32_t fw_hang_hits(fw_machine *m, uint32_t slot) { return m->s.hang_hits[slot & 7]; }
FW_EXPORT uint32_t fw_touched(fw_machine *m, uint32_t row, uint32_t word) { return m->s.p[row].touched[word & 7]; }
