// Are the ranks' models the same? Names, shapes and values of the parameters, compared once at the start.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <minitorch/autograd/visit.hpp>
#include <minitorch/comm/communicator.hpp>

namespace minitorch::parallel::detail {

// FNV-1a, 64 bits.
inline std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
  return hash;
}

// The parameters, after a check that every rank has the same. With `broadcast` values come from rank 0 and only names and shapes are
// compared. Throws ArgumentError on every rank with the first that differs.
template <Scalar T>
std::vector<NamedParameter<T>> same_on_all_ranks(std::vector<NamedParameter<T>> parameters, Communicator& comm, bool broadcast) {
  std::vector<std::int64_t> longest(1, static_cast<std::int64_t>(parameters.size()));
  comm.all_reduce(longest, Reduction::max);
  const auto rows = static_cast<std::size_t>(longest[0]);
  std::vector<std::int64_t> mine(2 * rows, 0), all(2 * rows * static_cast<std::size_t>(comm.size()));
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto& [name, tensor] = parameters[p];
    const std::string form = concat(name, ' ', tensor.shape());
    mine[2 * p] = static_cast<std::int64_t>(hash_bytes(std::as_bytes(std::span(form))));
    mine[2 * p + 1] = broadcast ? 0 : static_cast<std::int64_t>(hash_bytes(std::as_bytes(tensor.values())));
  }
  comm.all_gather(mine, all);
  for (std::size_t p = 0; p < rows; ++p) {
    for (std::size_t rank = 1; rank < static_cast<std::size_t>(comm.size()); ++rank) {
      const bool form = all[2 * p] != all[2 * (rank * rows + p)], value = all[2 * p + 1] != all[2 * (rank * rows + p) + 1];
      if (!form && !value) continue;
      fail<ArgumentError>("data parallel: parameter ", p, form ? " has another name or shape" : " has other values", " on rank ", rank,
                          " than on rank 0; on rank ", comm.rank(), " it is ",
                          p < parameters.size() ? concat(parameters[p].name, ' ', parameters[p].tensor.shape()) : "missing");
    }
  }
  if (broadcast) {
    const Scoped<&ThreadState::grad_enabled> writing(false);
    for (auto& parameter : parameters) comm.broadcast(parameter.tensor.mutable_values(), 0);
  }
  return parameters;
}

}  // namespace minitorch::parallel::detail
