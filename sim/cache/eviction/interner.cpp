#include "sim/cache/eviction/interner.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace kvsim::cache {
namespace {

constexpr unsigned kLeastBits = 6;
constexpr unsigned kMostBits = 32;  // half of it are 2^31 keys

}  // namespace

Interner::Interner(std::size_t keys) {
  resize(std::clamp(static_cast<unsigned>(std::bit_width(2 * keys)), kLeastBits, kMostBits));
}

void Interner::resize(unsigned bits) {
  if (bits > kMostBits) throw std::length_error("more different keys than an object id can number");
  std::vector<Slot, engine::PageAllocator<Slot>> old(std::size_t{1} << bits);
  std::swap(old, slots_);
  shift_ = 64 - bits;
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNoObject) continue;
    std::size_t i = home(slot.key);
    while (slots_[i].id != kNoObject) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

ObjectId Interner::intern(std::uint64_t key) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = home(key);
  for (; slots_[i].id != kNoObject; i = (i + 1) & mask) {
    if (slots_[i].key == key) return slots_[i].id;
  }
  if (2 * (size_ + 1) > slots_.size()) [[unlikely]] {
    resize(64 - shift_ + 1);
    return intern(key);
  }
  slots_[i] = {key, static_cast<ObjectId>(size_)};
  return static_cast<ObjectId>(size_++);
}

void Interner::intern(std::span<const std::uint64_t> keys, std::span<ObjectId> ids) {
  constexpr std::size_t ahead = 16;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + ahead < keys.size()) __builtin_prefetch(slots_.data() + home(keys[i + ahead]));
    ids[i] = intern(keys[i]);
  }
}

}  // namespace kvsim::cache
