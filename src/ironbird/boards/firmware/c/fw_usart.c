/* Serial ports [RM0090] 30: bytes take their time at the baud rate in both directions, with DMA requests, idle line,
 * overrun and framing errors.  Ten bits a byte.  Not modelled: parity, nine bits, synchronous mode, LIN, flow control. */
enum { SR, DR, BRR, CR1, CR2, CR3 };
enum { S_FE = 2, S_ORE = 8, S_IDLE = 16, S_RXNE = 32, S_TC = 64, S_TXE = 128 };

static uint64_t fw_usart_q(fw_machine *m, uint32_t row) { /* of one byte */
  fw_peripheral *p = &m->s.p[row];
  uint32_t brr = p->r[BRR] & 0xFFFF;
  if (p->r[CR1] & 0x8000) brr = (brr >> 4) * 8 + (brr & 7); /* OVER8 */
  return 10ull * (brr ? brr : 1) * fw_bus_q(m, m->row[row].bus);
}

static int fw_usart_irq(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t sr = p->r[SR], c1 = p->r[CR1];
  return (c1 & 0x20 && sr & (S_RXNE | S_ORE)) || (c1 & 0x80 && sr & S_TXE) || (c1 & 0x40 && sr & S_TC) ||
         (c1 & 0x10 && sr & S_IDLE) || (p->r[CR3] & 1 && p->r[CR3] & 0x40 && sr & (S_ORE | S_FE));
}

/* p->start: q at which the shift register is free; p->step: 1 while it sends; p->shift: its byte; p->left: 1 if DR waits;
 * p->flags: 1 after a byte came, until the line is idle. */
static void fw_usart_schedule(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  fw_line *l = &m->s.line[m->row[row].number];
  uint64_t next = p->step && !p->dead ? p->start : FW_NEVER;
  if (l->in_read != l->in_write) {
    uint64_t at = l->at[l->in_read % FW_RING];
    if (at < next) next = at;
  } else if (p->flags) {
    uint64_t idle = l->free + fw_usart_q(m, row);
    if (idle < next) next = idle;
  }
  fw_at(m, row, next);
}

static void fw_usart_feed(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  if ((p->r[CR1] & 0x2008) != 0x2008) return;
  while (1) {
    if (!p->step && p->left) {
      p->shift = p->r[DR + 63]; /* the transmit half of DR */
      p->left = 0;
      p->step = 1;
      p->start = m->s.now + fw_usart_q(m, row);
      p->r[SR] |= S_TXE;
      p->r[SR] &= ~S_TC;
    }
    if (!(p->r[SR] & S_TXE) || !(p->r[CR3] & 0x80) || !fw_dma_ask(m, row, 1)) break;
  }
  if (fw_usart_irq(m, row)) fw_line_irq(m, row);
  fw_usart_schedule(m, row);
}

/* Bytes that come to a dead port are lost. */
static void fw_usart_lose(fw_machine *m, uint32_t row) {
  fw_line *l = &m->s.line[m->row[row].number];
  for (; l->in_read != l->in_write && l->at[l->in_read % FW_RING] <= m->s.now; l->in_read++) {
    l->lost++;
    m->s.p[row].refused++;
  }
  m->s.p[row].flags = 0;
  fw_usart_schedule(m, row);
}

static void fw_usart_event(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  fw_line *l = &m->s.line[m->row[row].number];
  uint64_t now = m->s.now;
  if (p->step && p->start <= now) {
    uint32_t at = l->out_write++ % FW_RING;
    l->out[at] = p->shift;
    l->out_ns[at] = fw_ns(m, p->start);
    p->step = 0;
    if (m->tell_port == m->row[row].number + 1 && p->shift == m->tell_byte) { m->told = 1; fw_apply_stop(m); }
    if (!p->left) p->r[SR] |= S_TC;
    fw_usart_feed(m, row);
  }
  while (l->in_read != l->in_write && l->at[l->in_read % FW_RING] <= now) {
    uint8_t byte = l->in[l->in_read++ % FW_RING];
    if ((p->r[CR1] & 0x2004) != 0x2004) { l->lost++; continue; }
    double ours = m->s.hz * FW_Q * 10.0 / (double)fw_usart_q(m, row), ratio = ours / (l->baud ? l->baud : 1);
    if (ratio < 0.97 || ratio > 1.03) { /* the ends disagree: broken frames */
      p->r[SR] |= S_FE;
      byte = (uint8_t)(byte << 1 | 1);
    }
    p->flags = 1;
    if (p->r[SR] & S_RXNE) { p->r[SR] |= S_ORE; l->lost++; continue; }
    p->r[DR] = byte;
    p->r[SR] |= S_RXNE;
    if (p->r[CR3] & 0x40) fw_dma_ask(m, row, 0);
  }
  if (p->flags && l->in_read == l->in_write && l->free + fw_usart_q(m, row) <= now) {
    p->r[SR] |= S_IDLE;
    p->flags = 0;
  }
  if (fw_usart_irq(m, row)) fw_line_irq(m, row);
  fw_usart_schedule(m, row);
}

static uint32_t fw_usart_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 4) {
    p->r[SR] &= ~(uint32_t)(S_RXNE | S_ORE | S_FE | S_IDLE); /* SR was read before, as software has to */
    return p->r[DR];
  }
  return p->r[o >> 2];
}

static void fw_usart_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0) { p->r[SR] &= v | ~(uint32_t)(S_RXNE | S_TC); return; }
  if (o == 4) {
    p->r[DR + 63] = v & 0xFF;
    p->left = 1;
    p->r[SR] &= ~(uint32_t)(S_TXE | S_TC);
  } else p->r[o >> 2] = v;
  fw_usart_feed(m, row);
}

static uint32_t fw_usart_row(fw_machine *m, uint32_t number) {
  for (uint32_t i = 0; i < m->rows; i++)
    if (m->row[i].kind == FW_USART && m->row[i].number == number) return i;
  return FW_PERIPHERALS;
}

/* Bytes begin to leave for a port at a moment, or behind those that are leaving; how many found room. */
FW_EXPORT uint32_t fw_serial_send(fw_machine *m, uint32_t number, const uint8_t *data, uint32_t count, uint32_t baud, double ns) {
  uint32_t row = fw_usart_row(m, number);
  if (row == FW_PERIPHERALS) return 0;
  fw_line *l = &m->s.line[number];
  uint64_t at = fw_q(m, ns), step = (uint64_t)(10.0 * FW_Q * m->s.hz / baud);
  if (at < m->s.now) at = m->s.now;
  if (l->free > at) at = l->free;
  l->baud = baud;
  uint32_t i = 0;
  for (; i < count && l->in_write - l->in_read < FW_RING; i++) {
    at += step;
    l->at[l->in_write % FW_RING] = at;
    l->in[l->in_write++ % FW_RING] = data[i];
  }
  l->free = at;
  fw_usart_schedule(m, row);
  return i;
}

/* Bytes that have left a port, each with its moment; how many. */
FW_EXPORT uint32_t fw_serial_take(fw_machine *m, uint32_t number, uint8_t *data, double *ns, uint32_t room) {
  fw_line *l = &m->s.line[number & 15];
  uint32_t i = 0;
  if (l->out_write - l->out_read > FW_RING) l->out_read = l->out_write - FW_RING; /* nobody looked: the oldest are lost */
  for (; i < room && l->out_read != l->out_write; i++, l->out_read++) {
    data[i] = l->out[l->out_read % FW_RING];
    ns[i] = l->out_ns[l->out_read % FW_RING];
  }
  return i;
}

/* Bits a second that a port is set to; 0 while it is off. */
FW_EXPORT double fw_serial_baud(fw_machine *m, uint32_t number) {
  uint32_t row = fw_usart_row(m, number);
  if (row == FW_PERIPHERALS || !(m->s.p[row].r[CR1] & 0x2000)) return 0.0;
  return m->s.hz * FW_Q * 10.0 / (double)fw_usart_q(m, row);
}
