/* I2C masters of the first kind [RM0090] 27: start, address, bytes and stop with the flags in the order that drivers
 * wait for, at nine bits a byte.  Not modelled: slave mode, SMBus, ten-bit addresses, arbitration, clock stretching. */
enum { I2C_CR1, I2C_CR2, I2C_OAR1, I2C_OAR2, I2C_DR, I2C_SR1, I2C_SR2, I2C_CCR };
enum { I_SB = 1, I_ADDR = 2, I_BTF = 4, I_RXNE = 64, I_TXE = 128, I_AF = 1024 };
enum { I_IDLE, I_STARTED, I_ADDRESSED, I_WRITING, I_READING }; /* p->step; p->left: DR waits */
enum { I_LAST = 1, I_SEEN = 2 }; /* p->flags: the last byte was read; SR1 was read while it had ADDR */

static uint64_t fw_i2c_q(fw_machine *m, uint32_t row) { /* of one bit */
  uint32_t ccr = m->s.p[row].r[I2C_CCR], n = ccr & 0xFFF, high = ccr & 0x8000 ? (ccr & 0x4000 ? 25 : 3) : 2;
  return (uint64_t)(n ? n : 1) * high * fw_bus_q(m, m->row[row].bus);
}

static void fw_i2c_irq(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  uint32_t sr = p->r[I2C_SR1], c = p->r[I2C_CR2];
  if ((c & 0x200 && sr & (I_SB | I_ADDR | I_BTF)) || ((c & 0x600) == 0x600 && sr & (I_RXNE | I_TXE))) fw_raise(m, m->row[row].irq);
  if (c & 0x100 && sr & 0xFF00) fw_raise(m, m->row[row].irq2);
}

static int fw_i2c_ask(fw_machine *m, uint32_t row, uint32_t address, uint32_t reading) {
  int found = 0;
  for (uint32_t i = 0; i < m->devices; i++) {
    fw_device *d = &m->device[i];
    m->s.device_active[i] = 0;
    if (d->is_spi || d->peripheral != row || !ib_operations_of(d->chip)->i2c_match(d->model, address)) continue;
    if (ib_operations_of(d->chip)->i2c_begin(d->model, (int64_t)fw_ns(m, m->s.now), reading)) found = m->s.device_active[i] = 1;
  }
  return found;
}

static void fw_i2c_end(fw_machine *m, uint32_t row) {
  for (uint32_t i = 0; i < m->devices; i++)
    if (!m->device[i].is_spi && m->device[i].peripheral == row && m->s.device_active[i]) {
      ib_operations_of(m->device[i].chip)->i2c_end(m->device[i].model);
      m->s.device_active[i] = 0;
    }
  m->s.p[row].step = I_IDLE;
  m->s.p[row].r[I2C_SR2] &= ~7u;
}

static void fw_i2c_feed(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  if (p->step == I_WRITING && !p->left && p->r[I2C_CR2] & 0x800) fw_dma_ask(m, row, 1);
  if (p->step == I_WRITING && p->left && m->s.next[row] == FW_NEVER) {
    p->shift = p->r[I2C_DR + 60];
    p->left = 0;
    p->r[I2C_SR1] |= I_TXE;
    p->r[I2C_SR1] &= ~(uint32_t)I_BTF;
    fw_at(m, row, m->s.now + 9 * fw_i2c_q(m, row));
  }
  if (p->step == I_READING && m->s.next[row] == FW_NEVER && !(p->r[I2C_SR1] & I_RXNE) && !(p->flags & I_LAST))
    fw_at(m, row, m->s.now + 9 * fw_i2c_q(m, row));
  fw_i2c_irq(m, row);
}

static void fw_i2c_event(fw_machine *m, uint32_t row) {
  fw_peripheral *p = &m->s.p[row];
  m->s.next[row] = FW_NEVER;
  if (p->step == I_STARTED && !(p->r[I2C_SR1] & I_SB) && p->left) { /* the address is out */
    p->left = 0;
    if (fw_i2c_ask(m, row, p->shift >> 1, p->shift & 1)) {
      p->r[I2C_SR1] |= p->shift & 1 ? I_ADDR : I_ADDR | I_TXE;
      p->r[I2C_SR2] = p->shift & 1 ? 3 : 7; /* BUSY, MSL; TRA */
      p->step = I_ADDRESSED;
      p->flags = 0;
    } else p->r[I2C_SR1] |= I_AF;
  } else if (p->step == I_STARTED) {
    p->r[I2C_SR1] |= I_SB;
    p->r[I2C_SR2] = 3;
  } else if (p->step == I_WRITING) {
    int taken = 0;
    for (uint32_t i = 0; i < m->devices; i++)
      if (!m->device[i].is_spi && m->device[i].peripheral == row && m->s.device_active[i])
        taken |= ib_operations_of(m->device[i].chip)->i2c_byte(m->device[i].model, p->shift) != 0;
    if (!taken) p->r[I2C_SR1] |= I_AF;
    else if (!p->left) p->r[I2C_SR1] |= I_BTF | I_TXE;
  } else if (p->step == I_READING) {
    uint32_t value = 0xFF;
    for (uint32_t i = 0; i < m->devices; i++)
      if (!m->device[i].is_spi && m->device[i].peripheral == row && m->s.device_active[i]) {
        const ib_operations *o = ib_operations_of(m->device[i].chip);
        value &= (uint32_t)o->i2c_peek(m->device[i].model);
        o->i2c_commit(m->device[i].model);
        o->i2c_done(m->device[i].model);
      }
    p->r[I2C_DR] = value;
    p->r[I2C_SR1] |= I_RXNE;
    if (!(p->r[I2C_CR1] & 0x400)) p->flags |= I_LAST; /* not acknowledged */
    if (p->r[I2C_CR2] & 0x800) {
      uint32_t left = fw_dma_left(m, row, 0);
      fw_dma_ask(m, row, 0);
      p->r[I2C_SR1] &= ~(uint32_t)I_RXNE;
      if (p->r[I2C_CR2] & 0x1000 && left <= 1) p->flags |= I_LAST;
    }
    if (p->r[I2C_CR1] & 0x200 && p->flags & I_LAST) {
      p->r[I2C_CR1] &= ~0x200u;
      uint32_t kept = p->r[I2C_SR1];
      fw_i2c_end(m, row);
      p->r[I2C_SR1] = kept;
    }
  }
  fw_i2c_feed(m, row);
}

static uint32_t fw_i2c_read(fw_machine *m, uint32_t row, uint32_t o) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0x10) {
    p->r[I2C_SR1] &= ~(uint32_t)(I_RXNE | I_BTF);
    fw_i2c_feed(m, row);
    return p->r[I2C_DR];
  }
  if (o == 0x14 && p->r[I2C_SR1] & I_ADDR) p->flags |= I_SEEN;
  if (o == 0x18 && p->step == I_ADDRESSED && p->flags & I_SEEN) { /* SR1 then SR2 clears ADDR */
    p->r[I2C_SR1] &= ~(uint32_t)I_ADDR;
    p->step = p->shift & 1 ? I_READING : I_WRITING;
    fw_i2c_feed(m, row);
  }
  return p->r[o >> 2];
}

static void fw_i2c_write(fw_machine *m, uint32_t row, uint32_t o, uint32_t v) {
  fw_peripheral *p = &m->s.p[row];
  if (o == 0x10) {
    if (p->step == I_STARTED && p->r[I2C_SR1] & I_SB) {
      p->r[I2C_SR1] &= ~(uint32_t)I_SB;
      p->shift = v & 0xFF;
      p->left = 1;
      fw_at(m, row, m->s.now + 9 * fw_i2c_q(m, row));
    } else if (p->step == I_WRITING) {
      p->r[I2C_DR + 60] = v & 0xFF;
      p->left = 1;
      p->r[I2C_SR1] &= ~(uint32_t)(I_TXE | I_BTF);
      fw_i2c_feed(m, row);
    }
    return;
  }
  if (o == 0x14) { p->r[I2C_SR1] &= v | 0xFF; return; }
  p->r[o >> 2] = v;
  if (o == 0) {
    if (v & 0x8000) { /* SWRST */
      fw_i2c_end(m, row);
      p->r[I2C_SR1] = p->r[I2C_SR2] = 0;
      p->left = p->flags = 0;
      m->s.next[row] = FW_NEVER;
    }
    if (v & 0x200 && (p->step != I_READING || p->flags & I_LAST || m->s.next[row] == FW_NEVER)) {
      p->r[I2C_CR1] &= ~0x200u;
      p->r[I2C_SR1] &= ~(uint32_t)(I_TXE | I_BTF);
      fw_i2c_end(m, row);
      m->s.next[row] = FW_NEVER;
    }
    if (v & 0x100) {
      p->r[I2C_CR1] &= ~0x100u;
      p->r[I2C_SR1] &= ~(uint32_t)(I_TXE | I_BTF);
      p->step = I_STARTED;
      p->left = 0;
      fw_at(m, row, m->s.now + fw_i2c_q(m, row));
    }
  }
  fw_i2c_irq(m, row);
}
