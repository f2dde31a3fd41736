#include "tests/calibrate/emulator.h"

#include <ucontext.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/portable.h"

namespace kvsim::test {
namespace {

using calibrate::kWarpSize;

/// A barrier for some of the fibers; what they deposit is readable until the barrier after the next.
struct Meeting {
  int members = 0;
  int arrived = 0;
  std::uint64_t round = 0;
  std::array<std::array<std::array<std::uint32_t, 6>, kWarpSize>, 2> deposits{};
};

struct Fiber {
  ucontext_t context{};
  std::vector<char> stack;
  bool ended = false;
};

struct Block {
  Grid grid;
  int x = 0, y = 0, z = 0;
  int current = 0;
  ucontext_t scheduler{};
  std::vector<Fiber> fibers;
  std::vector<Meeting> warps;
  Meeting all;
  const std::function<void()>* kernel = nullptr;
  bool moved = false;  ///< some fiber got past a meeting or ended in this turn
};

Block*& running() {
  thread_local Block* block = nullptr;
  return block;
}

void yield() {
  Block& block = *running();
  swapcontext(&block.fibers[static_cast<std::size_t>(block.current)].context, &block.scheduler);
}

void fiber_main() {
  Block& block = *running();
  (*block.kernel)();
  block.fibers[static_cast<std::size_t>(block.current)].ended = true;
  block.moved = true;
  yield();
}

void meet(Meeting& meeting) {
  const std::uint64_t round = meeting.round;
  running()->moved = true;
  if (++meeting.arrived == meeting.members) {
    meeting.arrived = 0;
    ++meeting.round;
    return;
  }
  while (meeting.round == round) yield();
}

Meeting& warp() {
  Block& block = *running();
  return block.warps[static_cast<std::size_t>(block.current / kWarpSize)];
}

/// Deposits words and returns what every lane of the warp did.
const std::array<std::array<std::uint32_t, 6>, kWarpSize>& exchange(const std::array<std::uint32_t, 6>& words) {
  Meeting& meeting = warp();
  auto& slots = meeting.deposits[meeting.round % 2];
  slots[static_cast<std::size_t>(running()->current % kWarpSize)] = words;
  meet(meeting);
  return slots;
}

void run_block(Block& block) {
  const auto threads = static_cast<std::size_t>(block.grid.threads);
  for (std::size_t i = 0; i < threads; ++i) {
    Fiber& fiber = block.fibers[i];
    fiber.ended = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiber_main, 0);
  }
  for (std::size_t left = threads; left > 0;) {
    block.moved = false;
    left = 0;
    for (std::size_t i = 0; i < threads; ++i) {
      if (block.fibers[i].ended) continue;
      ++left;
      block.current = static_cast<int>(i);
      swapcontext(&block.scheduler, &block.fibers[i].context);
    }
    if (left > 0 && !block.moved) throw std::logic_error("threads wait for threads that never come");
  }
}

float half_of(std::uint32_t word, std::size_t index) {
  return calibrate::from_bf16(static_cast<calibrate::Bf16>(word >> (16 * index)));
}

}  // namespace

void run_kernel(const Grid& grid, const std::function<void()>& kernel) {
  constexpr std::size_t stack_bytes = 256 << 10;
  Block block;
  block.grid = grid;
  block.kernel = &kernel;
  block.fibers.resize(static_cast<std::size_t>(grid.threads));
  for (Fiber& fiber : block.fibers) fiber.stack.resize(stack_bytes);
  running() = &block;
  for (block.z = 0; block.z < grid.z; ++block.z) {
    for (block.y = 0; block.y < grid.y; ++block.y) {
      for (block.x = 0; block.x < grid.x; ++block.x) {
        block.warps.assign(static_cast<std::size_t>(grid.threads / kWarpSize), Meeting{});
        for (Meeting& meeting : block.warps) meeting.members = kWarpSize;
        block.all = Meeting{};
        block.all.members = grid.threads;
        run_block(block);
      }
    }
  }
  running() = nullptr;
}

}  // namespace kvsim::test

namespace kvsim::calibrate {

using test::running;

int thread_index() {
  return running()->current;
}
int block_threads() {
  return running()->grid.threads;
}
int block_x() {
  return running()->x;
}
int block_y() {
  return running()->y;
}
int block_z() {
  return running()->z;
}
int grid_x() {
  return running()->grid.x;
}
void sync_block() {
  test::meet(running()->all);
}

std::uint32_t shuffle_xor(std::uint32_t value, int mask) {
  const auto lane = static_cast<std::size_t>((running()->current % kWarpSize) ^ mask);
  return test::exchange({value})[lane][0];
}

float shuffle_xor(float value, int mask) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits = shuffle_xor(bits, mask);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

int atomic_add(int* address, int value) {
  const int before = *address;
  *address += value;
  return before;
}

float exp2_fast(float x) {
  return std::exp2(x);
}

Vec16 load16(const void* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) throw std::logic_error("16-byte load off its alignment");
  Vec16 result;
  std::memcpy(&result, address, sizeof result);
  return result;
}

Vec8 load8(const void* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % 8 != 0) throw std::logic_error("8-byte load off its alignment");
  Vec8 result;
  std::memcpy(&result, address, sizeof result);
  return result;
}

// Operand layouts as the PTX manual states them for mma.m16n8k16 with .bf16 operands: element i of a lane's fragment.
void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  const auto& lanes = test::exchange({a[0], a[1], a[2], a[3], b0, b1});
  std::array<std::array<float, 16>, 16> left{};
  std::array<std::array<float, 8>, 16> right{};
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    const std::size_t group = lane / 4;
    const std::size_t in_group = lane % 4;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
      const std::size_t column = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      left[row][column] = test::half_of(lanes[lane][i / 2], i % 2);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
      right[row][group] = test::half_of(lanes[lane][4 + i / 2], i % 2);
    }
  }
  const auto me = static_cast<std::size_t>(running()->current % kWarpSize);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t row = i < 2 ? me / 4 : me / 4 + 8;
    const std::size_t column = me % 4 * 2 + (i & 1);
    for (std::size_t k = 0; k < 16; ++k) d[i] += left[row][k] * right[k][column];
  }
}

}  // namespace kvsim::calibrate
