// What a rank's function may return, as bytes: it travels to the parent through shared memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace minitorch::comm {

// Trivially copyable types (without pointers that mean something), strings, and vectors of those.
template <class R>
struct Codec {
  static_assert(std::is_trivially_copyable_v<R> && !std::is_pointer_v<R>,
                "the function of launch must return void, a trivially copyable type, std::string or a std::vector of those");
  static void encode(std::string& out, const R& value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
  static R decode(std::string_view& in) {
    alignas(R) unsigned char bytes[sizeof(R)];
    std::memcpy(bytes, in.data(), sizeof bytes);
    in.remove_prefix(sizeof bytes);
    return *std::launder(reinterpret_cast<R*>(bytes));
  }
};

template <>
struct Codec<std::string> {
  static void encode(std::string& out, const std::string& value) {
    Codec<std::uint64_t>::encode(out, value.size());
    out += value;
  }
  static std::string decode(std::string_view& in) {
    const std::size_t size = Codec<std::uint64_t>::decode(in);
    std::string value(in.substr(0, size));
    in.remove_prefix(size);
    return value;
  }
};

template <class T>
struct Codec<std::vector<T>> {
  static void encode(std::string& out, const std::vector<T>& value) {
    Codec<std::uint64_t>::encode(out, value.size());
    for (const auto& v : value) Codec<T>::encode(out, v);
  }
  static std::vector<T> decode(std::string_view& in) {
    std::vector<T> value;
    const std::size_t size = Codec<std::uint64_t>::decode(in);
    value.reserve(size);
    for (std::size_t i = 0; i < size; ++i) value.push_back(Codec<T>::decode(in));
    return value;
  }
};

}  // namespace minitorch::comm
