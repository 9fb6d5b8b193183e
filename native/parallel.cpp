#include "parallel.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace backblocks {
namespace {

// Below this, waking a thread costs more than it saves.
constexpr std::int64_t kWorthSharing = 1 << 20;
// More chunks than threads, so that a thread that is held up leaves its share to the others.
constexpr std::int64_t kChunksPerThread = 8;
// And so many, however few threads there are, that a long loop can be interrupted.
constexpr std::int64_t kLongestChunk = 1 << 24;
// How often the thread that called a loop calls the interrupt callback.
constexpr std::chrono::milliseconds kInterruptInterval{50};
// How often an idle worker spins before it sleeps: some 50 microseconds, about what waking it would cost.
constexpr int kSpins = 100;

std::atomic<Interrupt> interrupt_callback{[] {}};

// Whether this thread is a worker of the pool. A loop inside a chunk of another is not interrupted there:
// only threads that came from outside call the callback.
thread_local bool is_worker = false;

struct Job {
    const std::int64_t n;
    const Chunk chunk;
    const void* const body;
    const std::int64_t chunks;
    int seats;  // threads that may still join; the pool's mutex guards it
    std::atomic<std::int64_t> next{0};
    std::atomic<std::int64_t> left{chunks};
    std::atomic_flag failed{};
    std::exception_ptr error{};

    // `between` is called before each chunk. After an exception the chunks left are passed over.
    template <class Between>
    void work(const Between& between) {
        for (std::int64_t i; (i = next.fetch_add(1)) < chunks;) {
            try {
                if (!failed.test()) {
                    between();
                    chunk(body, n * i / chunks, n * (i + 1) / chunks);
                }
            } catch (...) {
                if (!failed.test_and_set()) error = std::current_exception();
            }
            if (left.fetch_sub(1) == 1) left.notify_all();
        }
    }

    void work_of_caller() {
        if (is_worker) return work([] {});
        using Clock = std::chrono::steady_clock;
        // Loops that follow each other are like one: some kernels are made of many short ones.
        thread_local Clock::time_point looked, ended;
        if (const auto now = Clock::now(); now - ended > kInterruptInterval) looked = now;
        work([&] {
            const auto now = Clock::now();
            if (now - looked < kInterruptInterval) return;
            looked = now;
            interrupt_callback.load()();
        });
        ended = Clock::now();
    }

    // Joins on chunks and not on threads: one that never woke up is not waited for.
    void wait() {
        for (std::int64_t now; (now = left.load()) > 0;) left.wait(now);
        if (error) std::rethrow_exception(error);
    }
};

class ThreadPool {
   public:
    void run(const std::shared_ptr<Job>& job) {
        std::list<std::shared_ptr<Job>>::iterator place;
        {
            const std::lock_guard lock(mutex_);
            start_workers(job->seats);
            place = jobs_.insert(jobs_.end(), job);
            posted_.fetch_add(1);
        }
        wake_.notify_all();
        job->work_of_caller();
        {
            const std::lock_guard lock(mutex_);
            jobs_.erase(place);
        }
        job->wait();
    }

   private:
    void start_workers(int wanted) {
        try {
            for (; workers_ < wanted; ++workers_) std::thread([this] { serve(); }).detach();
        } catch (const std::system_error&) {
            // No more threads to be had: those there are, at least the caller, do the work.
        }
    }

    [[noreturn]] void serve() {
        is_worker = true;
        for (;;) {
            const auto seen = posted_.load();
            if (const auto job = take()) {
                job->work([] {});
                continue;
            }
            for (int look = 0; look < kSpins && posted_.load() == seen; ++look)
                std::this_thread::yield();
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return posted_.load() != seen; });
        }
    }

    // A job with a free seat and chunks that nobody has begun.
    std::shared_ptr<Job> take() {
        const std::lock_guard lock(mutex_);
        for (const auto& job : jobs_)
            if (job->seats > 0 && job->next.load() < job->chunks) {
                --job->seats;
                return job;
            }
        return nullptr;
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::list<std::shared_ptr<Job>> jobs_;
    int workers_ = 0;
    std::atomic<unsigned> posted_{0};
};

std::atomic<int> wanted_threads{0};
std::atomic<ThreadPool*> current_pool{nullptr};

// The pool is never destroyed: its threads run until the process ends. A forked child has none of
// them, and perhaps a locked mutex, so it leaves the pool alone and makes a new one when it needs it.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { current_pool.store(nullptr); });

ThreadPool& pool() {
    ThreadPool* now = current_pool.load();
    if (now) return *now;
    auto made = std::make_unique<ThreadPool>();
    return current_pool.compare_exchange_strong(now, made.get()) ? *made.release() : *now;
}

}  // namespace

int num_threads() {
    // Asking the system takes longer than a small kernel.
    static const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int wanted = wanted_threads.load();
    return wanted > 0 ? wanted : cores;
}

void set_num_threads(int count) { wanted_threads.store(count); }

void set_interrupt(Interrupt interrupt) { interrupt_callback.store(interrupt); }

LoopSplit split_loop(std::int64_t n, std::int64_t bytes) {
    const int threads = num_threads();
    if (n <= 1 || bytes < kWorthSharing) return {1, 1};
    const std::int64_t wanted = threads == 1 ? 1 : threads * kChunksPerThread;
    const std::int64_t chunks = std::min(n, std::max(wanted, bytes / kLongestChunk));
    return {chunks, static_cast<int>(std::min<std::int64_t>(threads, chunks))};
}

void run_chunks(std::int64_t n, std::int64_t bytes, Chunk chunk, const void* body) {
    const auto [chunks, threads] = split_loop(n, bytes);
    if (n <= 1 || bytes < kWorthSharing) {
        if (n > 0) chunk(body, 0, n);
        return;
    }
    const auto job = std::make_shared<Job>(n, chunk, body, chunks, threads - 1);
    if (threads > 1) return pool().run(job);
    job->work_of_caller();
    job->wait();
}

}  // namespace backblocks
