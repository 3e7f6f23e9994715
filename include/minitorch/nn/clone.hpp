// Deep copies of modules. Modules are moved freely and copied by clone() alone, so that no loop trains a copy by accident.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <type_traits>

#include <minitorch/autograd/grad_mode.hpp>
#include <minitorch/autograd/visit.hpp>

namespace minitorch::nn {

namespace detail {

// Stands for any member of an aggregate when its members are counted.
struct AnyMember {
  template <class T>
  operator T() const;
};

template <class M, class... Members>
constexpr int count_members() {
  constexpr bool one_more = requires { M{Members{}..., AnyMember{}}; };
  if constexpr (one_more)
    return count_members<M, Members..., AnyMember>();
  else
    return int{sizeof...(Members)};
}

template <class M>
concept ClonesItself = requires(const M& module) {
  { module.clone() } -> std::same_as<M>;
};

struct Cloner {
  template <Element T>
  static Tensor<T> copy(const Tensor<T>& tensor) {
    if (!tensor.defined()) return {};
    Tensor<T> out = no_grad([&] { return tensor.clone(); });
    if constexpr (Scalar<T>) out.set_requires_grad(tensor.requires_grad() && tensor.is_leaf());
    return out;
  }
  template <class P>
  static std::vector<P> copy(const std::vector<P>& parts) {
    std::vector<P> out;
    out.reserve(parts.size());
    for (const P& part : parts) out.push_back(copy(part));
    return out;
  }
  template <class... P>
  static std::tuple<P...> copy(const std::tuple<P...>& parts) {
    return std::apply([](const P&... part) { return std::tuple<P...>(copy(part)...); }, parts);
  }
  template <class P>
  static std::optional<P> copy(const std::optional<P>& part) {
    return part ? std::optional<P>(copy(*part)) : std::nullopt;
  }
  template <class P>
  static std::unique_ptr<P> copy(const std::unique_ptr<P>& part) {
    return part ? std::make_unique<P>(copy(*part)) : nullptr;
  }
  template <class P>
  static P copy(const P& part) {
    if constexpr (ClonesItself<P>)
      return part.clone();
    else if constexpr (std::is_trivially_copyable_v<P> || !std::is_aggregate_v<P>)
      return value(part);
    else
      return aggregate(part);
  }

 private:
  template <class P>
  static P value(const P& part) {
    static_assert(!Module<P> || std::is_trivially_copyable_v<P>,
                  "clone: a module that is not an aggregate needs a member function clone() const");
    return part;
  }
  // Member by member: what is visited and what is not.
  template <class P>
  static P aggregate(const P& part) {
    constexpr int members = count_members<P>();
    static_assert(members <= 10, "clone: a module of more than 10 members needs a member function clone() const");
    if constexpr (members == 0) {
      return P{};
    } else if constexpr (members == 1) {
      const auto& [a] = part;
      return P{copy(a)};
    } else if constexpr (members == 2) {
      const auto& [a, b] = part;
      return P{copy(a), copy(b)};
    } else if constexpr (members == 3) {
      const auto& [a, b, c] = part;
      return P{copy(a), copy(b), copy(c)};
    } else if constexpr (members == 4) {
      const auto& [a, b, c, d] = part;
      return P{copy(a), copy(b), copy(c), copy(d)};
    } else if constexpr (members == 5) {
      const auto& [a, b, c, d, e] = part;
      return P{copy(a), copy(b), copy(c), copy(d), copy(e)};
    } else if constexpr (members == 6) {
      const auto& [a, b, c, d, e, f] = part;
      return P{copy(a), copy(b), copy(c), copy(d), copy(e), copy(f)};
    } else if constexpr (members == 7) {
      const auto& [a, b, c, d, e, f, g] = part;
      return P{copy(a), copy(b), copy(c), copy(d), copy(e), copy(f), copy(g)};
    } else if constexpr (members == 8) {
      const auto& [a, b, c, d, e, f, g, h] = part;
      return P{copy(a), copy(b), copy(c), copy(d), copy(e), copy(f), copy(g), copy(h)};
    } else if constexpr (members == 9) {
      const auto& [a, b, c, d, e, f, g, h, i] = part;
      return P{copy(a), copy(b), copy(c), copy(d), copy(e), copy(f), copy(g), copy(h), copy(i)};
    } else {
      const auto& [a, b, c, d, e, f, g, h, i, j] = part;
      return P{copy(a), copy(b), copy(c), copy(d), copy(e), copy(f), copy(g), copy(h), copy(i), copy(j)};
    }
  }
};

// What makes a class that can only be moved: a base of the layers.
struct MoveOnly {
  MoveOnly() = default;
  MoveOnly(MoveOnly&&) = default;
  MoveOnly& operator=(MoveOnly&&) = default;
};

}  // namespace detail

// A module like this one whose tensors share nothing with it: the same values, no gradients yet. Aggregates are copied member by
// member; other modules bring a clone() of their own.
template <Module M>
M clone(const M& module) {
  return detail::Cloner::copy(module);
}

}  // namespace minitorch::nn
