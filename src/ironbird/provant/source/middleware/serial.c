#include "serial.h"
#include "../core/stm32f4.h"

static const struct { uint32_t usart, rx, tx, irq; } ports[2] = {{USART2, 5, 6, 38}, {USART3, 1, 3, 39}};
static uint8_t incoming[2][SERIAL_RING], outgoing[2][512];
static uint32_t read_at[2];
static semaphore came[2];

void serial_start(void) {
  RCC_AHB1ENR |= 1u << 0 | 1u << 1 | 1u << 3 | 1u << 21; /* GPIOA, GPIOB, GPIOD, DMA1 */
  RCC_APB1ENR |= 1u << 17 | 1u << 18;
  GPIO_MODER(GPIOA) = (GPIO_MODER(GPIOA) & ~0xF0u) | 0xA0u; /* PA2, PA3: function 7 */
  GPIO_AFR(GPIOA, 0) |= 0x7700u;
  GPIO_MODER(GPIOB) = (GPIO_MODER(GPIOB) & ~0xF00000u) | 0xA00000u; /* PB10, PB11 */
  GPIO_AFR(GPIOB, 1) |= 0x7700u;
  for (int p = 0; p < 2; p++) {
    uint32_t u = ports[p].usart;
    DMA_PAR(ports[p].rx) = (uint32_t)&USART_DR(u);
    DMA_M0AR(ports[p].rx) = (uint32_t)incoming[p];
    DMA_NDTR(ports[p].rx) = SERIAL_RING;
    DMA_CR(ports[p].rx) = 4u << 25 | 1u << 10 | 1u << 8 | 1; /* channel 4, memory moves on, in a ring */
    USART_BRR(u) = (APB1_HZ + 921600u / 2) / 921600u;
    USART_CR3(u) = 1u << 6 | 1u << 7;
    USART_CR1(u) = 1u << 13 | 1u << 4 | 1u << 3 | 1u << 2; /* on, idle interrupt, both directions */
    NVIC_IPR8(ports[p].irq) = 0x80;
    NVIC_ISER(ports[p].irq / 32) = 1u << ports[p].irq % 32;
  }
}

static void interrupt(uint32_t p) {
  (void)USART_SR(ports[p].usart);
  (void)USART_DR(ports[p].usart);
  os_give(&came[p]);
}
void usart2_handler(void) { interrupt(0); }
void usart3_handler(void) { interrupt(1); }

int serial_send(uint32_t port, const uint8_t *bytes, uint32_t count) {
  uint32_t s = ports[port].tx;
  if (DMA_CR(s) & 1 || count > sizeof outgoing[0]) return 0;
  for (uint32_t i = 0; i < count; i++) outgoing[port][i] = bytes[i];
  if (s < 4) DMA_LIFCR = 0x3Du << 22; else DMA_HIFCR = 0x3Du << 16; /* streams 3 and 6 */
  DMA_PAR(s) = (uint32_t)&USART_DR(ports[port].usart);
  DMA_M0AR(s) = (uint32_t)outgoing[port];
  DMA_NDTR(s) = count;
  DMA_CR(s) = 4u << 25 | 1u << 10 | 1u << 6 | 1;
  return 1;
}

int serial_byte(uint32_t port) {
  uint32_t write = SERIAL_RING - DMA_NDTR(ports[port].rx);
  if (write == SERIAL_RING) write = 0;
  if (write == read_at[port]) return -1;
  uint8_t byte = incoming[port][read_at[port]];
  read_at[port] = (read_at[port] + 1) % SERIAL_RING;
  return byte;
}

int serial_wait(uint32_t port, uint32_t ticks) { return os_take(&came[port], ticks); }
