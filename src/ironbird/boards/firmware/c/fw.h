/* A microcontroller with a Cortex-M4F: the core is unicorn's, everything around it is here.
 *
 * Time is counted in q, 1/256 of a clock of the core, so that a clock count per instruction need not be whole.  All
 * clocks of an STM32 come from one source, so that peripherals count in q too; only bytes and moments that come from
 * outside are converted from nanoseconds.  Everything that changes is in fw_state, in the memories and in the registers
 * of the core: a copy of the three is a snapshot. */
#include <stddef.h>
#include <stdint.h>

typedef struct uc_struct uc_engine;
typedef size_t uc_hook_handle;
#define FW_EXPORT __attribute__((visibility("default")))
#define FW_Q 256u
#define FW_NEVER UINT64_MAX
#define FW_PERIPHERALS 80
#define FW_EXCEPTIONS 128 /* 16 of the core and 112 lines */
#define FW_RING 4096      /* bytes on their way on a serial line */
#define FW_PINS 176       /* ports A to K */
#define FW_MEMORIES 8
#define FW_DEVICES 16     /* chips on buses */
#define FW_BREAKS 32
#define FW_BACKUP 20      /* first backup register of the RTC */
#define FW_REQUESTS 64    /* rows of the DMA request table */
#define FW_HALFWORDS (1u << 19) /* of a flash whose basic blocks are looked at only once */

enum { FW_OTHER, FW_RCC, FW_PWR, FW_GPIO, FW_EXTI, FW_SYSCFG, FW_USART, FW_SPI, FW_I2C, FW_TIM, FW_DMA, FW_ADC,
       FW_FLASH, FW_IWDG, FW_OTG, FW_RNG, FW_CRC, FW_RTC };

/* Why a run ended before its time. */
enum { FW_TIME, FW_BREAK, FW_SENT, FW_BROKEN };

/* Exceptions of the core. */
enum { FW_RESET = 1, FW_NMI, FW_HARD, FW_MEM, FW_BUS, FW_USAGE, FW_SVC = 11, FW_PENDSV = 14, FW_SYSTICK = 15 };

typedef struct { /* a row of the device table */
  uint32_t kind, base, irq, bus, number, enable_at, enable_bit, irq2;
} fw_row;

typedef struct { /* which stream and channel of a DMA controller a peripheral may ask */
  uint32_t controller, stream, channel, peripheral, sends;
} fw_request;

typedef struct { uint32_t base, size, alias, writable; } fw_memory;

typedef struct { uint64_t at; uint32_t may; } fw_page; /* unicorn's uc_tlb_entry: 1 read, 2 write, 4 execute */

typedef struct { /* a chip on an SPI or I2C peripheral */
  uint32_t peripheral, is_spi, select_pin; /* pin: port * 16 + number, low while selected */
  int64_t chip;                            /* its number in the table of chips */
  void *model;
} fw_device;

typedef struct {
  uint32_t r[256];
  uint64_t start;   /* q: a timer's count was zero, a conversion began */
  uint32_t dead;    /* a fault: reads zero, takes nothing, never acts */
  uint32_t refused; /* accesses while dead */
  uint32_t step;    /* of a state machine */
  uint32_t shift;   /* byte on its way */
  uint32_t left;    /* of a sequence */
  uint32_t flags;
  uint32_t touched[8]; /* a bit for each register that was read or written */
} fw_peripheral;

typedef struct { /* bytes between a serial port and the world */
  uint64_t at[FW_RING]; /* q at which each incoming byte is whole */
  uint8_t in[FW_RING], out[FW_RING];
  double out_ns[FW_RING]; /* when each byte had left */
  uint32_t in_read, in_write, out_read, out_write, baud, lost;
  uint64_t free; /* q from which on the line to the port is free */
} fw_line;

typedef struct {
  uint64_t now, stop, run_until, instructions;
  uint64_t anchor_q;
  double anchor_ns, hz, drift; /* of the core's clock, and the share by which the crystal is wrong */
  uint32_t cpi;                /* q an instruction */
  uint32_t ahb, apb1, apb2;    /* divisors */
  uint32_t sleeping, resets, it_left, svc, returned, faulted, fault_address, undefined, held;
  uint32_t hang_at[8], hang_on[8], hang_hits[8];
  uint32_t halted; /* held in reset */
  uint32_t wrote_flash, flash_at, flash_old[2], flash_size;
  /* NVIC and system control */
  uint8_t priority[FW_EXCEPTIONS], enabled[FW_EXCEPTIONS], pending[FW_EXCEPTIONS], active[FW_EXCEPTIONS];
  uint32_t any_pending;
  uint32_t vtor, aircr, scr, ccr, shcsr, cfsr, hfsr, mmfar, bfar, cpacr, fpccr, demcr, dwt;
  uint64_t cycles_from;
  uint32_t systick_control, systick_reload;
  uint64_t systick_start, systick_next;
  uint32_t systick_flag;
  uint32_t entries[FW_EXCEPTIONS]; /* how often each was taken */
  uint32_t deepest;                /* most exceptions active at once */
  /* what the core said of its last fault, for people */
  uint32_t said_exception, said_pc, said_cfsr, said_address, said_count;
  double said_ns;
  uint32_t lockup;
  uint32_t pin_level[FW_PINS]; /* from outside */
  uint32_t unmodelled;         /* accesses to registers that only store */
  uint32_t reset_flags;
  uint64_t next[FW_PERIPHERALS]; /* q of the next event of each peripheral */
  fw_peripheral p[FW_PERIPHERALS];
  fw_line line[16];
  double adc_V[24];
  uint32_t device_active[FW_DEVICES]; /* addressed on I2C */
} fw_state;

typedef struct { uint32_t r[13], msp, psp, lr, pc, xpsr, control, primask, basepri, faultmask, fpscr, pad; uint64_t d[16]; } fw_regs;

typedef struct fw_machine {
  uc_engine *uc;
  fw_state s;
  fw_row row[FW_PERIPHERALS];
  uint32_t rows;
  fw_request request[FW_REQUESTS];
  uint32_t requests;
  fw_memory memory[FW_MEMORIES];
  uint8_t *bytes[FW_MEMORIES];
  uint32_t memories;
  fw_device device[FW_DEVICES];
  uint32_t devices;
  uint32_t breaks[FW_BREAKS], break_count, broke_at, step_over;
  uint8_t place[2560]; /* of each KiB from 0x40000000 on, then from 0x50000000 on: number of the peripheral plus one */
  double hse_Hz, vref_V;
  uint32_t first, debug_id; /* an STM32F1: fw_f1.c; DBGMCU_IDCODE */
  uint32_t boot; /* where the vectors are after a reset */
  uint32_t watching, wfi, last_pc;
  uint32_t by_blocks, in_blocks, waits; /* asked for; at present; the block that runs ends with WFI */
  uint16_t block[FW_HALFWORDS], known; /* of the block that begins at each half word of the flash: instructions * 8 + what it does */
  uint32_t ram_runs, wants_ram; /* instructions are fetched from RAM; one shall be */
  uint32_t tell_port, tell_byte, told; /* a run ends when this byte has left this port (number plus one) */
  uc_hook_handle hook[6];
  uint32_t flash_row, flash_open; /* stores into the flash are watched while it is unlocked only: watching slows every store */
} fw_machine;

static inline void fw_apply_stop(fw_machine *m) { m->s.stop = 0; } /* look again before the next instruction */
static void fw_pend(fw_machine *m, uint32_t exception);
static void fw_reset(fw_machine *m, uint32_t flags);
static uint8_t *fw_host(fw_machine *m, uint32_t address, uint32_t size);
static uint32_t fw_bus_read(fw_machine *m, uint32_t address, uint32_t size);
static void fw_bus_write(fw_machine *m, uint32_t address, uint32_t size, uint32_t value);
static void fw_clock(fw_machine *m, double hz);
static double fw_ns(fw_machine *m, uint64_t q);
static uint64_t fw_q(fw_machine *m, double ns);
static int fw_dma_ask(fw_machine *m, uint32_t peripheral, uint32_t sends);
static uint32_t fw_dma_left(fw_machine *m, uint32_t peripheral, uint32_t sends);
static void fw_reset_row(fw_machine *m, uint32_t row);
static void fw_exti_edge(fw_machine *m, uint32_t line, uint32_t port, uint32_t rising);
static void fw_flush_code(fw_machine *m);
static void fw_spi_feed(fw_machine *m, uint32_t row);
static void fw_i2c_feed(fw_machine *m, uint32_t row);
static uint32_t fw_row_of(fw_machine *m, uint32_t kind, uint32_t number);
static void fw_select(fw_machine *m, uint32_t pin, uint32_t level);

/* Calls of unicorn: handed over by whoever loaded it. */
static struct {
  int (*open)(int, int, uc_engine **);
  int (*close)(uc_engine *);
  int (*emu_start)(uc_engine *, uint64_t, uint64_t, uint64_t, size_t);
  int (*emu_stop)(uc_engine *);
  int (*reg_read)(uc_engine *, int, void *);
  int (*reg_write)(uc_engine *, int, const void *);
  int (*mem_map_ptr)(uc_engine *, uint64_t, uint64_t, uint32_t, void *);
  int (*mmio_map)(uc_engine *, uint64_t, uint64_t, void *, void *, void *, void *);
  int (*hook_add)(uc_engine *, uc_hook_handle *, int, void *, void *, uint64_t, uint64_t, ...);
  int (*ctl)(uc_engine *, int, ...);
  int (*hook_del)(uc_engine *, uc_hook_handle);
  int (*mem_protect)(uc_engine *, uint64_t, uint64_t, uint32_t);
} fw_uc;

static inline uint32_t fw_reg(fw_machine *m, int which) {
  uint32_t value = 0;
  fw_uc.reg_read(m->uc, which, &value);
  return value;
}

static inline void fw_set(fw_machine *m, int which, uint32_t value) { fw_uc.reg_write(m->uc, which, &value); }

/* q of one clock of the bus of a peripheral (0 AHB, 1 APB1, 2 APB2). */
static inline uint64_t fw_bus_q(fw_machine *m, uint32_t bus) {
  return (uint64_t)FW_Q * (bus == 0 ? m->s.ahb : m->s.ahb * (bus == 1 ? m->s.apb1 : m->s.apb2));
}

/* The level of an interrupt line is high.  While its handler is active nothing is latched: the return looks again. */
static inline void fw_raise(fw_machine *m, uint32_t irq) {
  if (!m->s.active[16 + irq]) fw_pend(m, 16 + irq);
}

static inline void fw_line_irq(fw_machine *m, uint32_t row) {
  if (m->row[row].irq != 255) fw_raise(m, m->row[row].irq);
}

static inline void fw_at(fw_machine *m, uint32_t row, uint64_t q) {
  m->s.next[row] = q;
  if (q < m->s.stop) fw_apply_stop(m);
}
