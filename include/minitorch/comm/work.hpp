// The handle of an asynchronous collective.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <memory>
#include <utility>

namespace minitorch {

namespace comm {

// What a backend keeps of a call that has begun.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  virtual ~Pending() = default;
  // Returns when the call is done; throws what it would have thrown. Any number of times.
  virtual void wait() = 0;
  virtual bool done() = 0;
  // Does what there is to do without waiting for anybody.
  virtual void look() noexcept = 0;
  // An exception unwinds: nobody may wait for this rank any more.
  virtual void abandon() noexcept = 0;
};

}  // namespace comm

// Waits for one call. Buffers must live until then: give their owner to keep(), and the Work holds it as long as anybody can touch the
// memory. A Work that is dropped waits in its destructor and swallows the error; one that an exception drops ends the launch.
class Work {
 public:
  Work() = default;
  explicit Work(std::shared_ptr<comm::Pending> pending) : pending_(std::move(pending)) {}
  Work(Work&&) = default;
  Work& operator=(Work&& other) noexcept {
    finish();
    pending_ = std::move(other.pending_);
    owner_ = std::move(other.owner_);
    return *this;
  }
  ~Work() { finish(); }

  // Throws what the call itself would have thrown.
  void wait() {
    if (pending_ != nullptr) pending_->wait();
    owner_.reset();
  }
  bool done() const { return pending_ == nullptr || pending_->done(); }

  template <class Owner>
  Work& keep(Owner owner) {
    owner_ = std::make_shared<Owner>(std::move(owner));
    return *this;
  }

 private:
  void finish() noexcept {
    if (pending_ != nullptr && std::uncaught_exceptions() > exceptions_) pending_->abandon();
    try {
      wait();
    } catch (...) {
    }
    pending_.reset();
  }

  std::shared_ptr<comm::Pending> pending_;
  std::shared_ptr<void> owner_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace minitorch
