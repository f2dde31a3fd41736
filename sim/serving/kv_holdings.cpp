#include "sim/serving/kv_holdings.h"

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

FindableKv& Residence::findable() {
  if (!findable_) findable_ = std::make_unique<FindableKv>();
  return *findable_;
}

const memory::MemoryClaim& Residence::chain() const {
  static const memory::MemoryClaim none;
  return findable_ ? findable_->chain_ : none;
}

void Residence::name_blocks(std::vector<std::uint64_t> hashes) {
  if (!hashes.empty()) findable().hashes_ = std::move(hashes);
}

std::int64_t Residence::named(std::int64_t count) const {
  return findable_ ? std::min(count, std::ssize(findable_->hashes_)) : 0;
}

KvHoldings::KvHoldings(const engine::Simulator& simulator, const std::string& group, std::int64_t gpu_bytes,
                       std::int64_t host_bytes, engine::TraceSink* trace, std::int64_t block_bytes)
    : simulator_(simulator),
      gpu_(simulator, group + "/KV memory", gpu_bytes, trace),
      host_(simulator, group + "/host memory", host_bytes, trace),
      block_bytes_(block_bytes) {}

bool KvHoldings::resize(Residence& r, std::int64_t bytes) {
  if (bytes <= r.held_) {
    gpu_.release(r.held_ - bytes);
  } else if (!gpu_.try_reserve(bytes - r.held_)) {
    return false;
  }
  held_ += bytes - std::exchange(r.held_, bytes);
  return true;
}

void KvHoldings::grow(std::int64_t bytes) {
  KVSIM_ALWAYS(gpu_.try_reserve(bytes), "memory that was available could not be reserved");
  held_ += bytes;
}

std::int64_t KvHoldings::there(const Residence& r, std::int64_t most) const {
  std::int64_t count = 0;
  const memory::BlockTable& blocks = gpu_.blocks();
  most = r.named(most);
  while (count < most && blocks.find(r.findable_->hashes_[static_cast<std::size_t>(count)]) != blocks.none) ++count;
  return count;
}

std::int64_t KvHoldings::in_use(const Residence& r, std::int64_t count) const {
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const memory::BlockTable::Slot slot = gpu_.blocks().find(r.findable_->hashes_[static_cast<std::size_t>(i)]);
    if (gpu_.blocks()[slot].references > 0) bytes += block_bytes_;
  }
  return bytes;
}

void KvHoldings::share(Residence& r, std::int64_t count) {
  if (count == 0) return;
  KVSIM_ALWAYS(r.held_ == 0, "a request that holds something takes shared blocks");
  FindableKv& own = *r.findable_;
  own.referred_ = gpu_.refer({own.hashes_.data(), static_cast<std::size_t>(count)});
  own.told_ = static_cast<std::size_t>(count);
  own.shared_ = r.held_ = count * block_bytes_;
  held_ += own.shared_;
  held_shared_ += own.shared_;
}

void KvHoldings::tell(Residence& r, std::int64_t count) {
  if (!r.findable_) return;
  FindableKv& own = *r.findable_;
  const auto until = static_cast<std::size_t>(r.named(count));
  for (; own.told_ < until; ++own.told_) {
    const std::uint64_t hash = own.hashes_[own.told_];
    if (gpu_.blocks().find(hash) != memory::BlockTable::none) continue;  // computed twice: this copy stays its own
    own.referred_.push_back(gpu_.share(hash, block_bytes_));
    own.shared_ += block_bytes_;
    held_shared_ += block_bytes_;
  }
}

bool KvHoldings::hold_chain(Residence& r, std::span<const std::uint64_t> chain, memory::KvForm form,
                            std::int64_t block_bytes, std::int64_t own) {
  KVSIM_ALWAYS(r.empty(), "a request that holds something takes a chain of blocks");
  memory::MemoryClaim none;
  memory::MemoryClaim& claim = chain.empty() ? none : r.findable().chain_;
  if (!gpu_.try_claim(claim, chain, form, block_bytes, own)) return false;
  claim.private_bytes = 0;  // counted here
  const std::int64_t shared = std::ssize(chain) * block_bytes;
  if (shared > 0) {
    r.findable_->shared_ += shared;
    r.findable_->told_ = chain.size();
  }
  r.held_ = own + shared;
  held_ += r.held_;
  held_shared_ += shared;
  return true;
}

void KvHoldings::loaded(Residence& r) {
  if (r.findable_) gpu_.loaded(r.findable_->chain_);
}

bool KvHoldings::stage(Residence& r, std::int64_t bytes, std::int64_t replaced) {
  if (gpu_.available() + replaced < bytes) return false;
  gpu_.release(replaced);
  r.held_ -= replaced;
  held_ -= replaced;
  r.replaced_ = replaced;
  KVSIM_ALWAYS(gpu_.try_reserve(bytes), "memory that was available could not be reserved");
  set_staged(r, bytes);
  return true;
}

void KvHoldings::set_staged(Residence& r, std::int64_t bytes) {
  staged_ += bytes - std::exchange(r.staged_, bytes);
  staged_level_.set(static_cast<double>(staged_), simulator_.now());
}

void KvHoldings::unstage(Residence& r) {
  gpu_.release(r.staged_);
  set_staged(r, 0);
  KVSIM_ALWAYS(gpu_.try_reserve(r.replaced_), "a compressed copy did not fit in place of the full one");
  r.held_ += r.replaced_;
  held_ += r.replaced_;
  r.replaced_ = 0;
}

void KvHoldings::keep_staged(Residence& r) {
  KVSIM_ALWAYS(r.replaced_ == 0, "what is kept has replaced a copy that would come back");
  r.held_ += r.staged_;
  held_ += r.staged_;
  set_staged(r, 0);
}

bool KvHoldings::hold_in_host(Residence& r, std::int64_t bytes) {
  if (r.in_host_ > 0) return true;
  if (!host_.try_reserve(bytes)) return false;
  r.in_host_ = bytes;
  return true;
}

void KvHoldings::leave_host(Residence& r) {
  host_.release(std::exchange(r.in_host_, 0));
}

void KvHoldings::leave_gpu(Residence& r) {
  unstage(r);
  if (r.findable_) {
    FindableKv& own = *r.findable_;
    gpu_.unrefer(own.referred_);
    gpu_.release(own.chain_);  // the chain comes first, and goes last: prefixes stay longer than what follows them
    own.referred_.clear();
    own.told_ = 0;
    r.held_ -= own.shared_;
    held_ -= own.shared_;
    held_shared_ -= std::exchange(own.shared_, 0);
  }
  KVSIM_ALWAYS(resize(r, 0), "memory could not be given back");
}

void KvHoldings::push_out(Residence& r) {
  leave_gpu(r);
  r.findable().gone_at_ = taken() + gpu_.available();
}

std::int64_t KvHoldings::found(const Residence& r, std::int64_t bytes) const {
  return r.findable_ ? std::clamp<std::int64_t>(r.findable_->gone_at_ - taken(), 0, bytes) : 0;
}

std::int64_t KvHoldings::take_back(Residence& r, std::int64_t bytes) {
  const std::int64_t there = found(r, bytes);
  taken_back_ += there;
  if (r.findable_) r.findable_->gone_at_ = 0;
  return there;
}

bool KvHoldings::reserve_beside(std::int64_t bytes) {
  if (!gpu_.try_reserve(bytes)) return false;
  beside_ += bytes;
  return true;
}

void KvHoldings::release_beside(std::int64_t bytes) {
  gpu_.release(bytes);
  beside_ -= bytes;
}

void KvHoldings::start_measuring() {
  gpu_.reset_statistics();
  host_.reset_statistics();
  staged_level_.reset(simulator_.now());
}

void KvHoldings::check_conservation(std::int64_t held, std::int64_t staged) const {
  gpu_.check_conservation();
  host_.check_conservation();
  KVSIM_ALWAYS(held == held_, "KV memory held differs from the sum over requests");
  KVSIM_ALWAYS(staged == staged_, "KV memory of reloads differs from the sum over requests");
  KVSIM_ALWAYS(held - held_shared_ + staged + beside_ == gpu_.private_bytes(),
               "KV memory reserved differs from the sum over requests");
}

}  // namespace kvsim::serving
