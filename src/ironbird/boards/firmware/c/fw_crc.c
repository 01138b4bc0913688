/* CRC unit [RM0090] 4: CRC-32 (Ethernet polynomial) of words, most significant bit first. */

static void fw_crc_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0) {
    uint32_t crc = p->r[0] ^ v;
    for (int i = 0; i < 32; i++) crc = crc & 0x80000000u ? crc << 1 ^ 0x04C11DB7u : crc << 1;
    p->r[0] = crc;
  } else if (o == 4) p->r[1] = v & 0xFF;
  else if (o == 8 && v & 1) p->r[0] = 0xFFFFFFFFu;
}
