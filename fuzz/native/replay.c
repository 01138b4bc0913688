/* Runs kept inputs through a harness without libFuzzer, for machines that have gcc alone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int count, char **names)
{
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(names[i], "rb");
        if (!file) return perror(names[i]), 2;
        fseek(file, 0, SEEK_END);
        const long size = ftell(file);
        rewind(file);
        uint8_t *data = malloc(size ? (size_t)size : 1); /* no byte more: what is read beyond it is seen */
        if (!data || (long)fread(data, 1, (size_t)size, file) != size) return perror(names[i]), 2;
        fclose(file);
        fprintf(stderr, "%s\n", names[i]);
        LLVMFuzzerTestOneInput(data, (size_t)size);
        free(data);
    }
    return 0;
}
