package picture

import "strconv"

// Builder collects the records and markers of one partition into a
// [Timeline]. They must come in offset order. The zero value is not usable;
// see [NewBuilder].
type Builder struct {
	timeline Timeline
	names    map[int64]string
	rows     map[int64]int // producer ID to index in timeline.Rows
	open     map[int64]int // producer ID to index of its open bar
}

// plainRow is the key of the row that all plain records share. A producer ID
// of an idempotent producer gives no row of its own: such records are visible
// at once, like those without any ID.
const plainRow = -1

// NewBuilder begins a timeline whose first offset is start.
func NewBuilder(topic string, partition int32, start int64) *Builder {
	return &Builder{
		timeline: Timeline{
			Schema: TimelineSchema, Topic: topic, Partition: partition,
			StartOffset: start, EndOffset: start,
		},
		names: make(map[int64]string),
		rows:  make(map[int64]int),
		open:  make(map[int64]int),
	}
}

// Name gives a producer's row a better name than its ID, such as its
// transactional ID. It applies to rows that exist and rows to come.
func (b *Builder) Name(producerID int64, name string) {
	b.names[producerID] = name
	if i, ok := b.rows[producerID]; ok {
		b.timeline.Rows[i].Name = name
	}
}

// Record adds one data record.
func (b *Builder) Record(offset, producerID int64, transactional bool) {
	b.advance(offset)
	if !transactional {
		row := b.row(plainRow)
		if len(row.Bars) == 0 {
			row.Bars = append(row.Bars, Bar{State: Plain, MarkerOffset: -1})
		}
		row.Bars[0].add(offset)
		return
	}
	row := b.row(producerID)
	i, ok := b.open[producerID]
	if !ok {
		i = len(row.Bars)
		row.Bars = append(row.Bars, Bar{State: Open, MarkerOffset: -1})
		b.open[producerID] = i
	}
	row.Bars[i].add(offset)
}

// Marker adds one control record. Type 0 aborts and type 1 commits the
// producer's open transaction; every other type ends nothing.
func (b *Builder) Marker(offset, producerID int64, controlType int16) {
	b.advance(offset)
	row := b.row(producerID)
	state := Other
	switch controlType {
	case 0:
		state = Aborted
	case 1:
		state = Committed
	}
	i, ok := b.open[producerID]
	if !ok || state == Other {
		row.Bars = append(row.Bars, Bar{State: state, MarkerOffset: offset})
		return
	}
	row.Bars[i].State, row.Bars[i].MarkerOffset = state, offset
	delete(b.open, producerID)
}

// Timeline returns what was collected, with the given marks, drawn at least
// up to end (exclusive). The builder must not be used afterwards.
func (b *Builder) Timeline(end int64, marks ...Mark) Timeline {
	if end > b.timeline.EndOffset {
		b.timeline.EndOffset = end
	}
	b.timeline.Marks = marks
	return b.timeline
}

func (b *Builder) advance(offset int64) {
	if offset >= b.timeline.EndOffset {
		b.timeline.EndOffset = offset + 1
	}
}

// row returns a producer's row, valid until the next call.
func (b *Builder) row(producerID int64) *Row {
	i, ok := b.rows[producerID]
	if !ok {
		i = len(b.timeline.Rows)
		b.rows[producerID] = i
		b.timeline.Rows = append(b.timeline.Rows, Row{Name: b.name(producerID), ProducerID: producerID})
	}
	return &b.timeline.Rows[i]
}

func (b *Builder) name(producerID int64) string {
	if name, ok := b.names[producerID]; ok {
		return name
	}
	if producerID == plainRow {
		return "plain"
	}
	return "producer " + strconv.FormatInt(producerID, 10)
}

func (b *Bar) add(offset int64) {
	if n := len(b.Data); n > 0 && b.Data[n-1].Last == offset-1 {
		b.Data[n-1].Last = offset
		return
	}
	b.Data = append(b.Data, Span{First: offset, Last: offset})
}
