/* USB OTG full speed [RM0090] 34 with nothing plugged in: the core resets and flushes at once, no host ever shows.
 * Not modelled: everything that needs a host; registers beyond the first KiB (of endpoints) store nothing. */

static uint32_t fw_otg_read(fw_machine *m, uint32_t row, uint32_t o) {
  return o == 0x10 ? 0x80000000u : m->s.p[row].r[o >> 2]; /* GRSTCTL: AHB idle, resets and flushes done */
}

static void fw_otg_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  if (o != 0x14) m->s.p[row].r[o >> 2] = v; /* GINTSTS has nothing to say */
}
