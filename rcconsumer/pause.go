package rcconsumer

import (
	"maps"
	"slices"
	"sync"
)

// pauses remembers what is paused, also of topics that are not read yet. As in
// kgo a topic and its partitions are paused independently.
type pauses struct {
	mu         sync.Mutex
	topics     map[string]bool
	partitions map[string]map[int32]bool
}

func (s *pauses) paused(topic string, id int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.topics[topic] || s.partitions[topic][id]
}

func (s *pauses) topicList() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.topics))
}

// partitionLists has a topic that is paused as a whole too, as kgo's list has.
func (s *pauses) partitionLists() map[string][]int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	lists := make(map[string][]int32, len(s.partitions))
	for topic := range s.topics {
		lists[topic] = []int32{}
	}
	for topic, ids := range s.partitions {
		lists[topic] = slices.Sorted(maps.Keys(ids))
	}
	return lists
}

func (s *pauses) setTopics(topics []string, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topics == nil {
		s.topics = make(map[string]bool)
	}
	for _, t := range topics {
		if paused {
			s.topics[t] = true
		} else {
			delete(s.topics, t)
		}
	}
}

func (s *pauses) setPartitions(lists map[string][]int32, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.partitions == nil {
		s.partitions = make(map[string]map[int32]bool)
	}
	for topic, ids := range lists {
		for _, id := range ids {
			switch {
			case !paused:
				delete(s.partitions[topic], id)
			case s.partitions[topic] == nil:
				s.partitions[topic] = map[int32]bool{id: true}
			default:
				s.partitions[topic][id] = true
			}
		}
		if len(s.partitions[topic]) == 0 {
			delete(s.partitions, topic)
		}
	}
}

// PauseFetchTopics stops fetching topics and returns all paused topics, sorted.
// Records that are buffered are not returned by later polls; they are fetched
// again after ResumeFetchTopics, which a pause for each poll pays for each time.
// Without arguments it only returns the list.
func (c *Consumer) PauseFetchTopics(topics ...string) []string {
	c.pauses.setTopics(topics, true)
	c.dropPaused()
	return c.pauses.topicList()
}

// PauseFetchPartitions stops fetching partitions and returns all that are paused
// by themselves. As in kgo a topic that is paused as a whole is in that map too,
// with no partitions unless some of it are paused by themselves as well. Buffered
// records are treated as by [Consumer.PauseFetchTopics].
func (c *Consumer) PauseFetchPartitions(partitions map[string][]int32) map[string][]int32 {
	c.pauses.setPartitions(partitions, true)
	c.dropPaused()
	return c.pauses.partitionLists()
}

// ResumeFetchTopics ends the pause of topics; partitions paused by themselves
// stay paused. Fetching goes on at the position, or where SetOffsets put it.
func (c *Consumer) ResumeFetchTopics(topics ...string) {
	c.pauses.setTopics(topics, false)
	c.resume()
}

// ResumeFetchPartitions ends the pause of partitions; a pause of their topic
// goes on.
func (c *Consumer) ResumeFetchPartitions(partitions map[string][]int32) {
	c.pauses.setPartitions(partitions, false)
	c.resume()
}

// dropPaused gives back the memory of paused partitions, whatever they are
// doing: kept, it could fill the buffer and stop all others.
func (c *Consumer) dropPaused() {
	for _, p := range c.allPartitions() {
		if !c.pauses.paused(p.topic, p.id) {
			continue
		}
		p.mu.Lock()
		p.rewindLocked()
		p.mu.Unlock()
	}
}

// resume fetches on, and offers what a partition that may not be rewound has
// kept through its pause, for example an error.
func (c *Consumer) resume() {
	c.pokeBrokers()
	for _, p := range c.allPartitions() {
		p.mu.Lock()
		ready := p.deliverableLocked()
		p.mu.Unlock()
		c.offer(p, ready && !c.pauses.paused(p.topic, p.id), false)
	}
}
