#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace instruction_counts_output {

inline std::FILE *file()
{
    static std::FILE *opened = std::fopen(std::getenv("INSTRUCTION_COUNTS_OUTPUT"), "wb");
    return opened;
}

inline void save_tensor(const char *when, const std::string &name, const at::Tensor &value)
{
    if (!value.defined())
        return;
    auto dense = value.detach();
    if (dense.is_sparse())
        dense = dense.to_dense();
    if (dense.is_quantized())
        dense = dense.dequantize();
    dense = dense.resolve_conj().resolve_neg().contiguous();
    std::fprintf(file(), "%s %s %s %lld", when, name.c_str(), c10::toString(dense.scalar_type()),
                 (long long) dense.dim());
    for (auto size : dense.sizes())
        std::fprintf(file(), " %lld", (long long) size);
    std::fprintf(file(), " %zu\n", (std::size_t) dense.nbytes());
    std::fwrite(dense.data_ptr(), 1, dense.nbytes(), file());
    std::fflush(file());
    if (value.is_leaf() && value.grad().defined())
        save_tensor(when, name + ".grad", value.grad());
}

template <class T, class = void> struct is_module : std::false_type {};
template <class T>
struct is_module<T, std::void_t<decltype(std::declval<T &>()->named_parameters(true))>>
    : std::true_type {};

template <class T> void save(const char *when, const std::string &name, T &value)
{
    using Plain = std::remove_cv_t<T>;
    if constexpr (std::is_convertible_v<T &, const at::Tensor &>) {
        save_tensor(when, name, value);
    } else if constexpr (std::is_same_v<Plain, std::vector<at::Tensor>>) {
        for (std::size_t place = 0; place < value.size(); ++place)
            save_tensor(when, name + "[" + std::to_string(place) + "]", value[place]);
    } else if constexpr (is_module<T>::value) {
        for (auto &pair : value->named_parameters(true))
            save_tensor(when, name + "." + pair.key(), pair.value());
    }
}

// What follows an expression after a comma: so that one without a value can be saved, too.
struct Nothing {
};
template <class T> std::decay_t<T> operator,(T &&value, Nothing)
{
    return std::forward<T>(value);
}

inline void seed()
{
    at::manual_seed(std::strtoull(std::getenv("INSTRUCTION_COUNTS_SEED"), nullptr, 10));
}

} // namespace instruction_counts_output
