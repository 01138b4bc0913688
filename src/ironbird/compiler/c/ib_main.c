/* A model as a program of its own: reads a run from standard input, writes its log and final state to standard output.
 * Used to run a kernel that was cross-compiled for another machine. The model's source is included by -DIB_MODEL. */
#include <stdio.h>
#include <stdlib.h>
#include IB_MODEL

static void *take(size_t size) {
  void *memory = aligned_alloc(64, (size + 64) / 64 * 64);
  if (!memory || fread(memory, 1, size, stdin) != size) {
    fprintf(stderr, "ironbird: the run on standard input is too short\n");
    exit(2);
  }
  return memory;
}

int main(void) {
  /* blocks, tick, ticks, events, log_every, log_rows, log_count */
  const int64_t *head = take(7 * sizeof(int64_t));
  const int64_t blocks = head[0], lanes = blocks * IB_W;
  ib_run_args r = {0};
  r.last_block = blocks;
  r.tick = head[1];
  r.ticks = head[2];
  r.log_every = head[4];
  r.log_rows = head[5];
  r.log_count = head[6];
  r.x = take(lanes * IB_NX * sizeof(double));
  r.xd = take(lanes * IB_NXD * sizeof(double));
  r.held = take(lanes * IB_NHELD * sizeof(double));
  r.param = take(lanes * IB_NP * sizeof(double));
  r.input = take(lanes * IB_NU * sizeof(double));
  r.seed = take(lanes * sizeof(uint64_t));
  r.stop_tick = take(lanes * sizeof(int64_t));
  r.stop_reason = take(lanes * sizeof(int64_t));
  r.stop_row = take(lanes * sizeof(int64_t));
  r.events = take(head[3] * sizeof(ib_event));
  r.event_first = take((blocks + 1) * sizeof(int64_t));
  r.log_index = take(r.log_count * sizeof(int64_t));
  const size_t size = (size_t)lanes * r.log_rows * r.log_count;
  r.log = malloc((size + 1) * sizeof(double));
  for (size_t i = 0; i < size; ++i) r.log[i] = __builtin_nan("");
  ib_run(&r);
  fwrite(r.log, sizeof(double), size, stdout);
  fwrite(r.x, sizeof(double), (size_t)lanes * IB_NX, stdout);
  fwrite(r.xd, sizeof(double), (size_t)lanes * IB_NXD, stdout);
  fwrite(r.stop_tick, sizeof(int64_t), (size_t)lanes, stdout);
  return fflush(stdout) == 0 ? 0 : 1;
}
