/* Columns of a log in the kernel's layout [block][row][column][8 lanes], turned into [column][lane][row]: eight rows of
 * eight lanes at a time, so that what is read and what is written are whole lines of memory. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define SIDE 8 /* lanes of a block, and rows that are turned at once */

typedef double side __attribute__((vector_size(8 * SIDE)));
typedef side loose_side __attribute__((aligned(8)));

/* Eight rows of eight lanes; `row_size` and `lane_size` are the numbers from row to row and from lane to lane. */
static void ib_turn_square(const double *from, int64_t row_size, double *to, int64_t lane_size)
{
    side a[SIDE], b[SIDE];
    for (int i = 0; i < SIDE; ++i) a[i] = *(const loose_side *)(from + i * row_size);
    for (int i = 0; i < SIDE; i += 2) { /* two by two, then squares of four, then of eight */
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < SIDE; i += 4)
        for (int j = i; j < i + 2; ++j) {
            a[j] = __builtin_shufflevector(b[j], b[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[j + 2] = __builtin_shufflevector(b[j], b[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int j = 0; j < SIDE / 2; ++j) {
        b[j] = __builtin_shufflevector(a[j], a[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        b[j + 4] = __builtin_shufflevector(a[j], a[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int lane = 0; lane < SIDE; ++lane) *(loose_side *)(to + lane * lane_size) = b[lane];
}

/* `columns` columns that follow each other, the first of them at `data`; sizes are in numbers. */
EXPORT void ib_turn_columns(const double *data, int64_t block_size, int64_t row_size, int64_t blocks, int64_t rows,
                            int64_t columns, double *to)
{
    const int64_t whole = rows - rows % SIDE, column_size = blocks * SIDE * rows;
    for (int64_t block = 0; block < blocks; ++block, data += block_size, to += SIDE * rows) {
        for (int64_t row = 0; row < whole; row += SIDE)
            for (int64_t i = 0; i < columns; ++i)
                ib_turn_square(data + row * row_size + i * SIDE, row_size, to + i * column_size + row, rows);
        for (int64_t row = whole; row < rows; ++row)
            for (int64_t i = 0; i < columns; ++i)
                for (int lane = 0; lane < SIDE; ++lane)
                    to[i * column_size + lane * rows + row] = data[row * row_size + i * SIDE + lane];
    }
}
