# Runs the mock cluster of the librdkafka that a confluent-kafka wheel brings.
# Usage: librdkafka_mock.py DIR, where the wheel is installed. Prints the address,
# and ends with its standard input.
import ctypes
import glob
import sys

found = glob.glob(sys.argv[1] + "/confluent_kafka.libs/librdkafka*") + glob.glob(sys.argv[1] + "/confluent_kafka/.dylibs/librdkafka*")
if not found:
    sys.exit("no librdkafka under " + sys.argv[1])
lib = ctypes.CDLL(found[0])
lib.rd_kafka_new.restype = ctypes.c_void_p
lib.rd_kafka_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
lib.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
lib.rd_kafka_mock_cluster_new.argtypes = [ctypes.c_void_p, ctypes.c_int]
lib.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
lib.rd_kafka_mock_cluster_bootstraps.argtypes = [ctypes.c_void_p]

problem = ctypes.create_string_buffer(512)
client = lib.rd_kafka_new(0, None, problem, len(problem))
if not client:
    sys.exit(problem.value.decode())
cluster = lib.rd_kafka_mock_cluster_new(client, 1)
print(lib.rd_kafka_mock_cluster_bootstraps(cluster).decode(), flush=True)
sys.stdin.read()
