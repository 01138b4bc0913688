/* Flash controller [RM0090] 3: keys, erase by sector, programming that only clears bits.  Reads cost no wait states.
 * The independent watchdog [RM0090] 21 is here too: it resets the chip 4 * 2^PR * RLR periods of 32 kHz (40 kHz in the first generation) after a reload. */

static void fw_flash_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 4) { /* KEYR */
    if (v == 0x45670123u) p->step = 1;
    else if (v == 0xCDEF89ABu && p->step == 1) {
      p->r[4] &= ~0x80000000u;
      p->step = 0;
      fw_apply_stop(m);
    } else p->step = 0;
    return;
  }
  if (o == 12) { p->r[3] &= ~(v & 0xF3); return; }
  if (o == 16) {
    if (p->r[4] >> 31) return;
    p->r[4] = v & ~0x10000u;
    fw_apply_stop(m);
    if (v & 0x10000 && v & 6) {
      uint32_t sector = v >> 3 & 31, from, size, flash = 0;
      for (uint32_t i = 0; i < m->memories; i++) if (m->memory[i].base == 0x08000000u) flash = i;
      from = sector < 4 ? sector * 0x4000 : sector == 4 ? 0x10000 : (sector - 4) * 0x20000;
      size = sector < 4 ? 0x4000 : sector == 4 ? 0x10000 : 0x20000;
      if (v & 4) { from = 0; size = m->memory[flash].size; }
      if (from + size <= m->memory[flash].size) for (uint32_t i = 0; i < size; i++) m->bytes[flash][from + i] = 0xFF;
      m->s.wrote_flash |= 2;
      fw_apply_stop(m);
      m->s.now += (uint64_t)(m->s.hz * 0.25) * FW_Q * (size / 0x4000 > 4 ? 4 : 1); /* 0.25 s to 1 s: the core stalls */
    }
    return;
  }
  p->r[o >> 2] = v;
}

/* Just before a store into flash: what is there, so that it can be put right afterwards. */
static void fw_flash_store(uc_engine *uc, int type, uint64_t address, int size, int64_t value, void *user) {
  fw_machine *m = user;
  uint8_t *at = fw_host(m, (uint32_t)address & ~3u, 8);
  (void)uc; (void)type; (void)value;
  if (!at) return;
  m->s.flash_at = (uint32_t)address & ~3u;
  m->s.flash_size = (uint32_t)size;
  m->s.flash_old[0] = ((uint32_t *)at)[0];
  m->s.flash_old[1] = ((uint32_t *)at)[1];
  m->s.wrote_flash |= 1;
  fw_apply_stop(m);
}

static void fw_flash_settle(fw_machine *m) {
  uint32_t row = fw_row_of(m, FW_FLASH, 0);
  if (m->s.wrote_flash & 1 && row != FW_PERIPHERALS) {
    uint32_t *at = (uint32_t *)fw_host(m, m->s.flash_at, 8);
    fw_peripheral *p = &m->s.p[row];
    int may = (p->r[4] & 1) && !(p->r[4] >> 31);
    for (int i = 0; at && i < 2; i++) at[i] = may ? at[i] & m->s.flash_old[i] : m->s.flash_old[i];
    if (!may) p->r[3] |= 0x80; /* PGSERR */
    else m->s.now += (uint64_t)(m->s.hz * 16e-6) * FW_Q;
  }
  m->s.wrote_flash = 0;
  fw_flush_code(m);
}

static uint32_t fw_flash_unlocked(fw_machine *m) {
  return m->flash_row != FW_PERIPHERALS && !(m->s.p[m->flash_row].r[4] >> 31);
}

/* Watch stores while the flash is unlocked; else they are not allowed.  Called while the core stands. */
static void fw_flash_guard(fw_machine *m) {
  uint32_t open = fw_flash_unlocked(m);
  if (open == m->flash_open) return;
  fw_memory *f = &m->memory[0];
  m->flash_open = open;
  if (!open) fw_uc.hook_del(m->uc, m->hook[3]);
  fw_uc.mem_protect(m->uc, f->base, f->size, open ? 7 : 5);
  if (f->alias != UINT32_MAX) fw_uc.mem_protect(m->uc, f->alias, f->size, open ? 7 : 5);
  if (open) fw_uc.hook_add(m->uc, &m->hook[3], FW_HOOK_MEM_WRITE, fw_flash_store, m, f->base, f->base + f->size - 1);
  fw_flush_code(m);
}

/* A store into the locked flash: nothing is written and the core goes on behind it.  Whether it was one. */
static int fw_flash_refused(fw_machine *m, uint32_t address) {
  fw_memory *f = &m->memory[0];
  uint8_t *op = fw_host(m, m->last_pc, 2);
  if (!op || (address - f->base >= f->size && (f->alias == UINT32_MAX || address - f->alias >= f->size))) return 0;
  if (m->flash_row != FW_PERIPHERALS) m->s.p[m->flash_row].r[3] |= 0x80; /* PGSERR */
  fw_set(m, UC_ARM_REG_PC, (m->last_pc + (op[1] >= 0xE8 ? 4 : 2)) | 1);
  return 1;
}

static void fw_iwdg_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0) {
    if ((v & 0xFFFF) == 0x5555) p->step = 1;
    else p->step = 0;
    if ((v & 0xFFFF) == 0xCCCC) p->flags = 1;
    if (((v & 0xFFFF) == 0xAAAA || (v & 0xFFFF) == 0xCCCC) && p->flags) {
      double s = 4.0 * (1u << (p->r[1] & 7)) * ((p->r[2] & 0xFFF) + 1) / (m->first ? 40000.0 : 32000.0);
      fw_at(m, row, m->s.now + (uint64_t)(s * m->s.hz) * FW_Q);
    }
    return;
  }
  if (p->step) p->r[o >> 2] = v;
}
