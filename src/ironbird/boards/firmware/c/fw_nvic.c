/* Nested vectored interrupt controller, SysTick, system control block and exceptions of ARMv7-M [ARMv7M].
 * Not modelled: lazy stacking as such (floating-point registers are stacked at once, at the places and with the EXC_RETURN
 * of the lazy way), memory protection unit, sleep-on-exit, debug monitor. */

static int32_t fw_group(fw_machine *m, uint32_t exception) {
  if (exception == FW_RESET) return -3;
  if (exception == FW_NMI) return -2;
  if (exception == FW_HARD) return -1;
  uint32_t split = (m->s.aircr >> 8 & 7) + 1; /* PRIGROUP: bits below are sub-priority */
  return m->s.priority[exception] >> split << split;
}

/* Priority at which the core executes: the highest of what is active, raised by the mask registers. */
static int32_t fw_level(fw_machine *m, int masks) {
  int32_t level = 256;
  for (uint32_t e = 1; e < FW_EXCEPTIONS; e++)
    if (m->s.active[e]) {
      int32_t g = fw_group(m, e);
      if (g < level) level = g;
    }
  if (!masks) return level;
  uint32_t primask = fw_reg(m, UC_ARM_REG_PRIMASK), basepri = fw_reg(m, UC_ARM_REG_BASEPRI),
           faultmask = fw_reg(m, UC_ARM_REG_FAULTMASK);
  uint32_t split = (m->s.aircr >> 8 & 7) + 1;
  if (basepri) {
    int32_t b = (int32_t)(basepri >> split << split);
    if (b < level) level = b;
  }
  if ((primask & 1) && level > 0) level = 0;
  if ((faultmask & 1) && level > -1) level = -1;
  return level;
}

static uint32_t fw_best(fw_machine *m) {
  uint32_t best = 0;
  int32_t level = 257;
  for (uint32_t e = 2; e < FW_EXCEPTIONS; e++) {
    if (!m->s.pending[e]) continue;
    if (e >= 16 && !m->s.enabled[e]) continue;
    int32_t g = e < 4 ? fw_group(m, e) : ((fw_group(m, e) << 8) | m->s.priority[e]) >> 8;
    if (g < level || (g == level && best >= 4 && m->s.priority[e] < m->s.priority[best])) {
      level = g;
      best = e;
    }
  }
  return best;
}

static void fw_pend(fw_machine *m, uint32_t exception) {
  if (exception >= FW_EXCEPTIONS) return; /* STIR takes numbers of lines that are not there */
  m->s.pending[exception] = 1;
  m->s.any_pending = 1;
  fw_apply_stop(m);
}

/* An exception that would be taken now; 0 if none. */
static uint32_t fw_due(fw_machine *m) {
  if (!m->s.any_pending) return 0;
  uint32_t e = fw_best(m);
  if (!e) {
    uint32_t left = 0;
    for (uint32_t i = 2; i < FW_EXCEPTIONS; i++) left |= m->s.pending[i];
    if (!left) m->s.any_pending = 0;
    return 0;
  }
  return fw_group(m, e) < fw_level(m, 1) ? e : 0;
}

/* WFI ends with any enabled pending interrupt whose priority would preempt if PRIMASK were clear. */
static int fw_wakes(fw_machine *m) {
  if (!m->s.any_pending) return 0;
  uint32_t e = fw_best(m);
  return e && fw_group(m, e) < fw_level(m, 0);
}

static void fw_fault(fw_machine *m, uint32_t exception, uint32_t cfsr, uint32_t address, uint32_t pc) {
  static const uint32_t enable[7] = {0, 0, 0, 0, 1u << 16, 1u << 17, 1u << 18};
  m->s.cfsr |= cfsr;
  if (cfsr & 0x8200) m->s.bfar = address;
  m->s.said_exception = exception;
  m->s.said_pc = pc;
  m->s.said_cfsr = cfsr;
  m->s.said_address = address;
  m->s.said_ns = fw_ns(m, m->s.now);
  m->s.said_count++;
  int32_t level = fw_level(m, 1);
  if (exception != FW_HARD && (!(m->s.shcsr & enable[exception]) || fw_group(m, exception) >= level)) {
    exception = FW_HARD; /* escalated */
    m->s.hfsr |= 1u << 30;
  }
  if (exception == FW_HARD && level <= -1) {
    m->s.lockup = 1;
    fw_apply_stop(m);
    return;
  }
  fw_pend(m, exception);
}

static int fw_push(fw_machine *m, uint32_t address, uint32_t value) {
  uint8_t *at = fw_host(m, address, 4);
  if (!at) return 0;
  *(uint32_t *)at = value;
  return 1;
}

static uint32_t fw_peek(fw_machine *m, uint32_t address, int *good) {
  uint8_t *at = fw_host(m, address, 4);
  if (!at) {
    *good = 0;
    return 0;
  }
  return *(uint32_t *)at;
}

/* Exception entry, [ARMv7M] B1.5.6. */
static void fw_enter(fw_machine *m, uint32_t e) {
  uint32_t xpsr = fw_reg(m, UC_ARM_REG_XPSR), control = fw_reg(m, UC_ARM_REG_CONTROL);
  uint32_t pc = fw_reg(m, UC_ARM_REG_PC) & ~1u;
  int handler = (xpsr & 0x1FF) != 0;
  int psp = !handler && (control & 2), fp = (control & 4) != 0;
  uint32_t sp = fw_reg(m, psp ? UC_ARM_REG_PSP : UC_ARM_REG_MSP);
  uint32_t frame = sp - (fp ? 104 : 32);
  uint32_t aligned = (frame & 4) && (m->s.ccr & 0x200);
  if (aligned) frame -= 4;
  static const int saved[6] = {UC_ARM_REG_R0, UC_ARM_REG_R1, UC_ARM_REG_R2, UC_ARM_REG_R3, UC_ARM_REG_R12, UC_ARM_REG_LR};
  int good = 1;
  for (int i = 0; i < 6; i++) good &= fw_push(m, frame + 4 * i, fw_reg(m, saved[i]));
  good &= fw_push(m, frame + 24, pc);
  good &= fw_push(m, frame + 28, (xpsr & ~0x200u) | (aligned ? 0x200u : 0));
  if (fp) {
    for (int i = 0; i < 8; i++) {
      uint64_t d = 0;
      fw_uc.reg_read(m->uc, UC_ARM_REG_D0 + i, &d);
      good &= fw_push(m, frame + 32 + 8 * i, (uint32_t)d);
      good &= fw_push(m, frame + 36 + 8 * i, (uint32_t)(d >> 32));
    }
    good &= fw_push(m, frame + 96, fw_reg(m, UC_ARM_REG_FPSCR));
  }
  if (!good) { /* the stack is nowhere: STKERR */
    m->s.cfsr |= 1u << 12;
    m->s.said_pc = pc;
    m->s.said_address = frame;
    m->s.said_cfsr = 1u << 12;
    m->s.said_exception = FW_BUS;
    m->s.said_ns = fw_ns(m, m->s.now);
    m->s.said_count++;
    if (e == FW_HARD || fw_level(m, 0) <= -1) {
      m->s.lockup = 1;
      return;
    }
    e = FW_HARD;
    m->s.hfsr |= 1u << 30;
  }
  fw_set(m, psp ? UC_ARM_REG_PSP : UC_ARM_REG_MSP, frame);
  if (!handler) fw_set(m, UC_ARM_REG_CONTROL, control & ~6u); /* now on the main stack */
  else if (fp) fw_set(m, UC_ARM_REG_CONTROL, control & ~4u);
  uint32_t back = 0xFFFFFFE1u | (handler ? 0 : psp ? 0xC : 0x8) | (fp ? 0 : 0x10);
  fw_set(m, UC_ARM_REG_XPSR, (xpsr & 0xF80F0000u) | 0x01000000u | e);
  fw_set(m, UC_ARM_REG_LR, back);
  m->s.pending[e] = 0;
  m->s.active[e] = 1;
  m->s.entries[e]++;
  uint32_t depth = 0;
  for (uint32_t i = 1; i < FW_EXCEPTIONS; i++) depth += m->s.active[i];
  if (depth > m->s.deepest) m->s.deepest = depth;
  int ok = 1;
  uint32_t vector = fw_peek(m, m->s.vtor + 4 * e, &ok);
  if (!ok || !(vector & 1)) {
    m->s.lockup = 1;
    m->s.hfsr |= 2;
    m->s.said_exception = e;
    m->s.said_pc = vector;
  }
  fw_set(m, UC_ARM_REG_PC, vector | 1);
  m->s.now += (fp ? 29u : 12u) * FW_Q; /* [M4TRM] 3.9.1 */
}

/* Exception return, [ARMv7M] B1.5.8. */
static void fw_return(fw_machine *m, uint32_t back) {
  uint32_t xpsr = fw_reg(m, UC_ARM_REG_XPSR), e = xpsr & 0x1FF, pc = fw_reg(m, UC_ARM_REG_PC);
  int to_handler = (back & 0xF) == 1, psp = (back & 0xF) == 0xD, fp = !(back & 0x10);
  if ((!to_handler && !psp && (back & 0xF) != 9) || !e || e >= FW_EXCEPTIONS || !m->s.active[e]) {
    fw_fault(m, FW_USAGE, 1u << 18, back, pc); /* INVPC */
    return;
  }
  m->s.active[e] = 0;
  if (e != FW_NMI && e != FW_HARD) fw_set(m, UC_ARM_REG_FAULTMASK, 0);
  uint32_t sp = fw_reg(m, psp ? UC_ARM_REG_PSP : UC_ARM_REG_MSP);
  int good = 1;
  static const int saved[6] = {UC_ARM_REG_R0, UC_ARM_REG_R1, UC_ARM_REG_R2, UC_ARM_REG_R3, UC_ARM_REG_R12, UC_ARM_REG_LR};
  uint32_t values[8];
  for (int i = 0; i < 8; i++) values[i] = fw_peek(m, sp + 4 * i, &good);
  if (!good) {
    m->s.active[e] = 1;
    fw_fault(m, FW_BUS, 1u << 11, sp, pc); /* UNSTKERR */
    return;
  }
  uint32_t number = values[7] & 0x1FF;
  if ((number != 0) != to_handler) {
    m->s.active[e] = 1;
    fw_fault(m, FW_USAGE, 1u << 18, back, pc);
    return;
  }
  uint32_t top = sp + 32;
  if (fp) {
    for (int i = 0; i < 8; i++) {
      uint64_t d = fw_peek(m, sp + 32 + 8 * i, &good);
      d |= (uint64_t)fw_peek(m, sp + 36 + 8 * i, &good) << 32;
      fw_uc.reg_write(m->uc, UC_ARM_REG_D0 + i, &d);
    }
    fw_set(m, UC_ARM_REG_FPSCR, fw_peek(m, sp + 96, &good));
    top += 72;
  }
  if (values[7] & 0x200) top += 4;
  fw_set(m, psp ? UC_ARM_REG_PSP : UC_ARM_REG_MSP, top);
  fw_set(m, UC_ARM_REG_XPSR, (values[7] & ~0x200u) | 0x01000000u);
  uint32_t control = fw_reg(m, UC_ARM_REG_CONTROL) & ~6u;
  fw_set(m, UC_ARM_REG_CONTROL, control | (psp ? 2 : 0) | (fp ? 4 : 0));
  for (int i = 0; i < 6; i++) fw_set(m, saved[i], values[i]);
  fw_set(m, UC_ARM_REG_PC, values[6] | 1);
  m->s.now += (fp ? 27u : 10u) * FW_Q;
}

/* ------------------------------------------------------------------ SysTick */

static uint64_t fw_tick_q(fw_machine *m) { return m->s.systick_control & 4 ? FW_Q : 8 * FW_Q; }

static void fw_systick_start(fw_machine *m) {
  m->s.systick_start = m->s.now;
  m->s.systick_next = FW_NEVER;
  if ((m->s.systick_control & 1) && m->s.systick_reload)
    m->s.systick_next = m->s.now + (m->s.systick_reload + 1ull) * fw_tick_q(m);
  fw_apply_stop(m);
}

static void fw_systick_event(fw_machine *m) {
  m->s.systick_flag = 1;
  m->s.systick_start = m->s.systick_next;
  m->s.systick_next += (m->s.systick_reload + 1ull) * fw_tick_q(m);
  if (m->s.systick_control & 2) fw_pend(m, FW_SYSTICK);
}

static uint32_t fw_systick_value(fw_machine *m) {
  if (!(m->s.systick_control & 1) || !m->s.systick_reload) return 0;
  uint64_t gone = (m->s.now - m->s.systick_start) / fw_tick_q(m);
  return gone ? (uint32_t)(m->s.systick_reload + 1 - gone) % (m->s.systick_reload + 1) : 0;
}

/* ------------------------------------------------------------------ private peripheral bus */

static uint32_t fw_bits(uint8_t *flags, uint32_t word) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < 32 && 16 + word * 32 + i < FW_EXCEPTIONS; i++) value |= (uint32_t)flags[16 + word * 32 + i] << i;
  return value;
}

static void fw_put_bits(fw_machine *m, uint8_t *flags, uint32_t word, uint32_t value, uint8_t to) {
  for (uint32_t i = 0; i < 32 && 16 + word * 32 + i < FW_EXCEPTIONS; i++)
    if (value >> i & 1) flags[16 + word * 32 + i] = to;
  m->s.any_pending = 1;
  fw_apply_stop(m);
}

static uint32_t fw_system_read(fw_machine *m, uint32_t a, uint32_t size) {
  fw_state *s = &m->s;
  uint32_t o = a & 0xFFF;
  if (a >> 12 == 0xE0001) { /* DWT */
    if (o == 4) return (uint32_t)((s->now - s->cycles_from) / FW_Q);
    return o == 0 ? s->dwt : 0;
  }
  if (a >> 12 == 0xE0042) return o == 0 ? m->debug_id : 0; /* DBGMCU_IDCODE */
  if (a >> 12 != 0xE000E) return 0;
  if (o >= 0x400 && o < 0x400 + FW_EXCEPTIONS - 16) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < size && o + i < 0x400 + FW_EXCEPTIONS - 16; i++) value |= (uint32_t)s->priority[16 + o - 0x400 + i] << 8 * i;
    return value;
  }
  if (o >= 0xD18 && o < 0xD24) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < size; i++) value |= (uint32_t)s->priority[4 + o - 0xD18 + i] << 8 * i;
    return value;
  }
  uint32_t w = o >> 2 & 7, shift = 8 * (o & 3), value = 0;
  switch (o & ~3u) {
    case 0x004: value = 3; break; /* ICTR */
    case 0x010: value = s->systick_control | s->systick_flag << 16; s->systick_flag = 0; break;
    case 0x014: value = s->systick_reload; break;
    case 0x018: value = fw_systick_value(m); break;
    case 0x01C: value = 0xC0000000u; break;
    case 0xD00: value = m->first ? 0x411FC231u : 0x410FC241u; break; /* CPUID: Cortex-M3 r1p1, M4 r0p1 */
    case 0xD04: {
      uint32_t best = s->any_pending ? fw_best(m) : 0, count = 0, lines = 0;
      for (uint32_t e = 1; e < FW_EXCEPTIONS; e++) {
        count += s->active[e];
        if (e >= 16) lines |= s->pending[e];
      }
      value = (fw_reg(m, UC_ARM_REG_XPSR) & 0x1FF) | (count <= 1 ? 1u << 11 : 0) | best << 12 | lines << 22 |
              (uint32_t)s->pending[FW_SYSTICK] << 26 | (uint32_t)s->pending[FW_PENDSV] << 28 | (uint32_t)s->pending[FW_NMI] << 31;
      break;
    }
    case 0xD08: value = s->vtor; break;
    case 0xD0C: value = 0xFA050000u | (s->aircr & 0x700); break;
    case 0xD10: value = s->scr; break;
    case 0xD14: value = s->ccr; break;
    case 0xD24:
      value = s->shcsr | s->active[FW_MEM] | (uint32_t)s->active[FW_BUS] << 1 | (uint32_t)s->active[FW_USAGE] << 3 |
              (uint32_t)s->active[FW_SVC] << 7 | (uint32_t)s->active[FW_PENDSV] << 10 | (uint32_t)s->active[FW_SYSTICK] << 11 |
              (uint32_t)s->pending[FW_USAGE] << 12 | (uint32_t)s->pending[FW_MEM] << 13 | (uint32_t)s->pending[FW_BUS] << 14 |
              (uint32_t)s->pending[FW_SVC] << 15;
      break;
    case 0xD28: value = s->cfsr; break;
    case 0xD2C: value = s->hfsr; break;
    case 0xD34: value = s->mmfar; break;
    case 0xD38: value = s->bfar; break;
    case 0xD88: value = s->cpacr; break;
    case 0xDFC: value = s->demcr; break;
    case 0xF34: value = s->fpccr; break;
    case 0xF40: value = 0x10110021u; break; /* MVFR0, MVFR1: single precision */
    case 0xF44: value = 0x11000011u; break;
    default:
      if (o >= 0x100 && o < 0x120) value = fw_bits(s->enabled, w);
      else if (o >= 0x180 && o < 0x1A0) value = fw_bits(s->enabled, w);
      else if (o >= 0x200 && o < 0x220) value = fw_bits(s->pending, w);
      else if (o >= 0x280 && o < 0x2A0) value = fw_bits(s->pending, w);
      else if (o >= 0x300 && o < 0x320) value = fw_bits(s->active, w);
  }
  value >>= shift;
  return size == 4 ? value : value & ((1u << 8 * size) - 1);
}

static void fw_system_write(fw_machine *m, uint32_t a, uint32_t size, uint32_t v) {
  fw_state *s = &m->s;
  uint32_t o = a & 0xFFF;
  if (a >> 12 == 0xE0001) {
    if (o == 0) s->dwt = v;
    if (o == 4) s->cycles_from = s->now - (uint64_t)v * FW_Q;
    return;
  }
  if (a >> 12 != 0xE000E) return;
  if (o >= 0x400 && o < 0x400 + FW_EXCEPTIONS - 16) {
    for (uint32_t i = 0; i < size && o + i < 0x400 + FW_EXCEPTIONS - 16; i++)
      s->priority[16 + o - 0x400 + i] = v >> 8 * i & 0xF0; /* four bits, as an STM32F4 has */
    fw_apply_stop(m);
    return;
  }
  if (o >= 0xD18 && o < 0xD24) {
    for (uint32_t i = 0; i < size; i++) s->priority[4 + o - 0xD18 + i] = v >> 8 * i & 0xF0;
    fw_apply_stop(m);
    return;
  }
  uint32_t w = o >> 2 & 7;
  switch (o) {
    case 0x010: {
      uint32_t before = s->systick_control;
      s->systick_control = v & 7;
      if ((before ^ v) & 5) fw_systick_start(m);
      break;
    }
    case 0x014: s->systick_reload = v & 0xFFFFFF; if ((s->systick_control & 1) && s->systick_next == FW_NEVER) fw_systick_start(m); break;
    case 0x018: s->systick_flag = 0; fw_systick_start(m); break;
    case 0xD04:
      if (v >> 31) fw_pend(m, FW_NMI);
      if (v >> 28 & 1) fw_pend(m, FW_PENDSV);
      if (v >> 27 & 1) s->pending[FW_PENDSV] = 0;
      if (v >> 26 & 1) fw_pend(m, FW_SYSTICK);
      if (v >> 25 & 1) s->pending[FW_SYSTICK] = 0;
      break;
    case 0xD08: s->vtor = v & 0x3FFFFF80u; break;
    case 0xD0C:
      if (v >> 16 != 0x5FA) break;
      s->aircr = v & 0x700;
      if (v & 4) s->held = 2; /* SYSRESETREQ: at the next instruction */
      fw_apply_stop(m);
      break;
    case 0xD10: s->scr = v & 0x16; break;
    case 0xD14: s->ccr = (v & 0x31B) | 0x200; break;
    case 0xD24: s->shcsr = v & 0x70000; break;
    case 0xD28: s->cfsr &= ~v; break;
    case 0xD2C: s->hfsr &= ~v; break;
    case 0xD34: s->mmfar = v; break;
    case 0xD38: s->bfar = v; break;
    case 0xD88: s->cpacr = v; break;
    case 0xDFC: s->demcr = v; break;
    case 0xF34: s->fpccr = v & 0xC0000000u; break;
    case 0xF00: fw_pend(m, 16 + (v & 0x7F)); break; /* STIR */
    default:
      if (o >= 0x100 && o < 0x120) fw_put_bits(m, s->enabled, w, v, 1);
      else if (o >= 0x180 && o < 0x1A0) fw_put_bits(m, s->enabled, w, v, 0);
      else if (o >= 0x200 && o < 0x220) fw_put_bits(m, s->pending, w, v, 1);
      else if (o >= 0x280 && o < 0x2A0) fw_put_bits(m, s->pending, w, v, 0);
  }
}
