// Products touch nothing beyond their operands: each lies flush against a page that must not be touched, behind it or before it.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

#include <tests/catch.hpp>

#include <minitorch/kernels/gemm.hpp>

namespace mt = minitorch;
using mt::kernels::gemm;
using mt::kernels::Isa;
using mt::kernels::Matrix;
using std::int64_t;

namespace {

// `count` numbers of value 1 that end where an untouchable page begins, or begin where one ends.
template <class T>
class Fenced {
 public:
  Fenced(int64_t count, bool at_end) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t inner = (bytes + page - 1) / page * page;
    size_ = inner + 2 * page;
    base_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(mprotect(base_, page, PROT_NONE) == 0);
    REQUIRE(mprotect(base_ + page + inner, page, PROT_NONE) == 0);
    data = reinterpret_cast<T*>(base_ + page + (at_end ? inner - bytes : 0));
    for (int64_t i = 0; i < count; ++i) data[i] = T(1);
  }
  ~Fenced() { munmap(base_, size_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  T* data;

 private:
  std::byte* base_;
  std::size_t size_;
};

}  // namespace

TEMPLATE_TEST_CASE("a product touches nothing beyond its operands", "", double, float, mt::half, mt::bfloat16) {
  using T = TestType;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx_bf16}) {
    if (mt::kernels::limit_isa(isa) != isa) continue;
    for (const bool at_end : {false, true})
      for (const auto& [m, n, k] :
           {std::tuple{1, 1, 1}, {3, 5, 7}, {15, 33, 31}, {33, 17, 65}, {70, 47, 33}, {32, 64, 32}, {29, 600, 19}, {70, 66, 131}}) {
        const Fenced<T> a(m * k, at_end), b(k * n, at_end), c(m * n, at_end);
        for (int form = 0; form < 4; ++form) {
          const bool ta = (form & 1) != 0, tb = (form & 2) != 0;
          gemm(1, m, n, k, Matrix<const T>{a.data, ta ? m : k, ta}, Matrix<const T>{b.data, tb ? k : n, tb}, Matrix<T>{c.data, n}, false);
          bool right = true;
          for (int64_t i = 0; i < m * n; ++i) right = right && static_cast<float>(c.data[i]) == static_cast<float>(k);
          REQUIRE(right);
        }
      }
  }
  mt::kernels::limit_isa(Isa::amx_bf16);
}
