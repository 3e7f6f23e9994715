// A group of ranks and the collectives between them, over spans of numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <memory_resource>
#include <ranges>
#include <span>
#include <string_view>

#include <minitorch/comm/call.hpp>
#include <minitorch/comm/counters.hpp>
#include <minitorch/comm/work.hpp>
#include <minitorch/core/error.hpp>

namespace minitorch {

// A contiguous range of elements that can be sent: a std::span, a std::vector, an array.
template <class R>
concept WireRange =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && comm::WireElement<std::remove_cv_t<std::ranges::range_value_t<R>>>;

// One where results can be written.
template <class R>
concept WireOutput = WireRange<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

// Every call is made by all ranks of the group, in the same order, with the same verb, count, type, reduction, root and tag; otherwise
// every rank throws CollectiveMismatch and no buffer has changed. A call commits on all ranks with the same bits or throws on all that
// live: PeerLost when one died, threw or returned, TimeoutError when the deadline passed. After those two the communicator, and with it
// every other of the same launch, is good for nothing but destruction. A communicator belongs to the rank's process, and to one
// thread at a time. Data in memory() is not copied on its way: peers read and write it where it is.
class Communicator {
 public:
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Memory that all ranks of the launch see.
  virtual std::pmr::memory_resource* memory() = 0;
  const Counters& counters() const { return counters_; }
  // How long a call may wait for its peers; zero is forever (for debuggers).
  std::chrono::nanoseconds deadline() const { return deadline_; }
  void set_deadline(std::chrono::nanoseconds deadline) { deadline_ = deadline; }
  // The rank in the launch of a rank of this group.
  virtual int world_rank(int rank) const = 0;
  // One line into this rank's log, or to standard error when the launch has no log directory.
  virtual void log(std::string_view line) = 0;

  // Nobody returns before everybody has called.
  void barrier() { run({.verb = comm::Verb::barrier}); }

  // data of `root` -> data of everybody.
  template <WireOutput R>
  void broadcast(R&& data, int root, std::uint64_t tag = 0) {
    run(reduction_call(comm::Verb::broadcast, data, data, Reduction::sum, root, tag));
  }

  // The reduction of everybody's `in` -> `out` of everybody; in place with one argument. Sums go by the fixed tree over ranks.
  template <WireRange In, WireOutput Out>
  void all_reduce(In&& in, Out&& out, Reduction reduction = Reduction::sum, std::uint64_t tag = 0) {
    run(reduction_call(comm::Verb::all_reduce, in, out, reduction, 0, tag));
  }
  template <WireOutput R>
  void all_reduce(R&& data, Reduction reduction = Reduction::sum, std::uint64_t tag = 0) {
    all_reduce(data, data, reduction, tag);
  }

  // The same, begun now and finished by Work::wait(). When all have begun it, those who wait for it, or begin another, do the sums; short
  // ones are done by the last to begin.
  template <WireRange In, WireOutput Out>
  Work start_all_reduce(In&& in, Out&& out, Reduction reduction = Reduction::sum, std::uint64_t tag = 0) {
    return start(reduction_call(comm::Verb::all_reduce, in, out, reduction, 0, tag));
  }
  template <WireOutput R>
  Work start_all_reduce(R&& data, Reduction reduction = Reduction::sum, std::uint64_t tag = 0) {
    return start_all_reduce(data, data, reduction, tag);
  }

  // The same, received by `root` alone; `out` of others is not used and may be empty.
  template <WireRange In, WireOutput Out>
  void reduce(In&& in, Out&& out, int root, Reduction reduction = Reduction::sum, std::uint64_t tag = 0) {
    run(reduction_call(comm::Verb::reduce, in, out, reduction, root, tag));
  }

  // `in` of rank 0, 1, ... one after the other -> `out` of everybody. `counts` are the pieces when they differ.
  template <WireRange In, WireOutput Out>
  void all_gather(In&& in, Out&& out, std::span<const std::int64_t> counts = {}, std::uint64_t tag = 0) {
    run(piece_call(comm::Verb::all_gather, in, out, elements(in), counts, 0, Reduction::sum, tag));
  }
  // The same, received by `root` alone.
  template <WireRange In, WireOutput Out>
  void gather(In&& in, Out&& out, int root, std::span<const std::int64_t> counts = {}, std::uint64_t tag = 0) {
    run(piece_call(comm::Verb::gather, in, out, elements(in), counts, root, Reduction::sum, tag));
  }
  // Piece r of `in` of `root` -> `out` of rank r.
  template <WireRange In, WireOutput Out>
  void scatter(In&& in, Out&& out, int root, std::span<const std::int64_t> counts = {}, std::uint64_t tag = 0) {
    run(piece_call(comm::Verb::scatter, in, out, elements(out), counts, root, Reduction::sum, tag));
  }
  // Piece r of the reduction of everybody's `in` -> `out` of rank r.
  template <WireRange In, WireOutput Out>
  void reduce_scatter(In&& in, Out&& out, Reduction reduction = Reduction::sum, std::span<const std::int64_t> counts = {},
                      std::uint64_t tag = 0) {
    run(piece_call(comm::Verb::reduce_scatter, in, out, elements(out), counts, 0, reduction, tag));
  }

  // One rank to another. Both return when the data has arrived: a send waits for its recv.
  template <WireRange R>
  void send(R&& data, int to, std::uint64_t tag = 0) {
    exchange(to, rank_,
             comm::Call{.verb = comm::Verb::send, .type = wire_type<R>(), .count = elements(data), .in = address(data), .tag = tag});
  }
  template <WireOutput R>
  void recv(R&& data, int from, std::uint64_t tag = 0) {
    exchange(from, from,
             comm::Call{.verb = comm::Verb::send, .type = wire_type<R>(), .count = elements(data), .out = address(data), .tag = tag});
  }

  // The group of those that give the same color, ordered by key, then rank. A negative color gets none.
  virtual std::unique_ptr<Communicator> split(int color, int key = 0) = 0;

 protected:
  Communicator(int rank, int size, std::chrono::nanoseconds deadline) : rank_(rank), size_(size), deadline_(deadline) {}

  // What a backend does: a call whose arguments are right, a call that others have to hear is wrong, point to point.
  virtual void run(const comm::Call& call) = 0;
  virtual Work start(const comm::Call& call) = 0;
  virtual void run_pair(int peer, int from, const comm::Call& call) = 0;

  Counters counters_;

 private:
  template <class R>
  static constexpr comm::WireType wire_type() {
    return comm::wire_type_of<std::remove_cv_t<std::ranges::range_value_t<R>>>;
  }
  template <class R>
  static std::int64_t elements(R&& range) {
    return static_cast<std::int64_t>(std::ranges::size(range));
  }
  template <class R>
  static auto address(R&& range) {
    return std::ranges::data(range);
  }

  template <class In, class Out>
  comm::Call reduction_call(comm::Verb verb, In& in, Out& out, Reduction reduction, int root, std::uint64_t tag);
  template <class In, class Out>
  comm::Call piece_call(comm::Verb verb, In& in, Out& out, std::int64_t mine, std::span<const std::int64_t> counts, int root,
                        Reduction reduction, std::uint64_t tag);
  // Tells the peers about a call that cannot be made, so that they throw too, and throws.
  [[noreturn]] void refuse(const std::string& what);
  void check(const comm::Call& call, std::int64_t in, std::int64_t out);
  void exchange(int peer, int from, const comm::Call& call);

  int rank_, size_;
  std::chrono::nanoseconds deadline_;
};

inline void Communicator::refuse(const std::string& what) {
  try {
    run({.verb = comm::Verb::invalid});
  } catch (const CommError&) {  // the peers threw, or were already lost: what is wrong here is what this rank reports
  }
  throw ArgumentError(what);
}

// in, out: the elements in the buffers.
inline void Communicator::check(const comm::Call& call, std::int64_t in, std::int64_t out) {
  using comm::name_of;
  if (comm::has_root(call.verb) && (call.root < 0 || call.root >= size_))
    refuse(concat(name_of(call.verb), ": root must be a rank of the group, got ", call.root, " of ", size_));
  if (comm::reduces(call.verb) && !comm::supports(call.reduction, call.type))
    refuse(concat(name_of(call.verb), ": ", name_of(call.reduction), " is not defined for ", name_of(call.type)));
  if (!call.counts.empty()) {
    if (static_cast<int>(call.counts.size()) != size_)
      refuse(concat(name_of(call.verb), ": one count a rank is needed, got ", call.counts.size(), " for ", size_, " ranks"));
    for (std::int64_t c : call.counts)
      if (c < 0) refuse(concat(name_of(call.verb), ": a count must not be negative, got ", c));
  }
  const comm::Range gives = call.gives(rank_, size_), takes = call.takes(rank_, size_);
  if (gives.size() != in && !(gives.empty() && from(call.verb) == comm::From::root))
    refuse(concat(name_of(call.verb), ": in must hold ", gives.size(), " elements, got ", in));
  if (takes.size() != out && !(takes.empty() && call.verb != comm::Verb::scatter && comm::has_root(call.verb)))
    refuse(concat(name_of(call.verb), ": out must hold ", takes.size(), " elements, got ", out));

  // In place means that each index has the same place in both.
  const auto size = comm::wire_size(call.type);
  const auto a = reinterpret_cast<std::uintptr_t>(call.in), b = reinterpret_cast<std::uintptr_t>(call.out);
  const auto bytes = [&](comm::Range r) { return static_cast<std::uintptr_t>(r.size() * size); };
  if (gives.empty() || takes.empty() || a >= b + bytes(takes) || b >= a + bytes(gives)) return;
  if (a - static_cast<std::uintptr_t>(gives.first * size) != b - static_cast<std::uintptr_t>(takes.first * size))
    refuse(concat(name_of(call.verb), ": in and out overlap without being in place: ", gives.size(), " elements at ", a, " and ",
                  takes.size(), " at ", b));
}

template <class In, class Out>
comm::Call Communicator::reduction_call(comm::Verb verb, In& in, Out& out, Reduction reduction, int root, std::uint64_t tag) {
  static_assert(wire_type<In>() == wire_type<Out>(), "in and out hold the same type");
  const comm::Call call{.verb = verb,
                        .reduction = reduction,
                        .type = wire_type<Out>(),
                        .root = root,
                        .count = elements(in),
                        .in = address(in),
                        .out = address(out),
                        .tag = tag};
  check(call, elements(in), elements(out));
  return call;
}

template <class In, class Out>
comm::Call Communicator::piece_call(comm::Verb verb, In& in, Out& out, std::int64_t mine, std::span<const std::int64_t> counts, int root,
                                    Reduction reduction, std::uint64_t tag) {
  static_assert(wire_type<In>() == wire_type<Out>(), "in and out hold the same type");
  std::int64_t all = mine * size_;
  if (!counts.empty()) all = 0;
  for (std::int64_t c : counts) all += c;
  const comm::Call call{.verb = verb,
                        .reduction = reduction,
                        .type = wire_type<Out>(),
                        .root = root,
                        .count = all,
                        .in = address(in),
                        .out = address(out),
                        .counts = counts,
                        .tag = tag};
  check(call, elements(in), elements(out));
  return call;
}

inline void Communicator::exchange(int peer, int from, const comm::Call& call) {
  if (peer < 0 || peer >= size_ || peer == rank_)
    fail<ArgumentError>(from == rank_ ? "send" : "recv", ": the peer must be another rank of the group, got ", peer, " of ", size_,
                        " on rank ", rank_);
  run_pair(peer, from, call);
}

}  // namespace minitorch
