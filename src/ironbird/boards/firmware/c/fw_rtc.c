/* Real-time clock [RM0090] 26: its twenty backup registers live on through resets; initialisation and synchronisation are
 * done at once.  Not modelled: the calendar counts nothing, no alarms, no time stamps, no wake-up. */

static uint32_t fw_rtc_read(fw_machine *m, uint32_t row, uint32_t o) {
  uint32_t v = m->s.p[row].r[o >> 2];
  return o == 0x0C ? v | (v & 0x80) >> 1 | 0x27 : v; /* ISR: INITF follows INIT; RSF and the write flags are set */
}

static void fw_rtc_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) { m->s.p[row].r[o >> 2] = v; }
