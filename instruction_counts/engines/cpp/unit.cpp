#include <cstdint>
#include <cstdio>
#include <exception>

extern "C" __attribute__((visibility("default"))) char instruction_counts_model[4096] = "";

static int instruction_counts_failed(const char *what, char *error, std::uint64_t size) noexcept
{
    std::snprintf(error, size, "%s", what);
    return 1;
}

// global_setup
extern "C" __attribute__((visibility("default"))) int instruction_counts_case(
    const std::uint64_t *instruction_counts_runs, std::uint64_t instruction_counts_count,
    void (*instruction_counts_begin)(void), void (*instruction_counts_end)(void),
    char *instruction_counts_error, std::uint64_t instruction_counts_size)
try {
// setup
;
for (std::uint64_t instruction_counts_window = 0;
     instruction_counts_window < instruction_counts_count; ++instruction_counts_window) {
    instruction_counts_begin();
    for (std::uint64_t instruction_counts_run = 0;
         instruction_counts_run < instruction_counts_runs[instruction_counts_window];
         ++instruction_counts_run) {
        do {
// stmt
        ;
        } while (false);
    }
    instruction_counts_end();
}
return 0;
} catch (const std::exception &instruction_counts_thrown) {
    return instruction_counts_failed(
        instruction_counts_thrown.what(), instruction_counts_error, instruction_counts_size);
} catch (...) {
    return instruction_counts_failed(
        "something that is no std::exception was thrown",
        instruction_counts_error, instruction_counts_size);
}
