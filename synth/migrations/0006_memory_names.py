from django.db import migrations, models

# A name that another person's memory had was kept with the person's number behind it.
PLAIN = """
UPDATE synth_memory m SET name = left(m.name, -length(':' || coalesce(m.about_id, 0)))
WHERE m.name LIKE '_%:' || coalesce(m.about_id, 0) AND NOT EXISTS (
    SELECT FROM synth_memory o WHERE o.agent_id = m.agent_id AND o.about_id IS NOT DISTINCT FROM m.about_id
    AND o.name = left(m.name, -length(':' || coalesce(m.about_id, 0))))
"""


class Migration(migrations.Migration):

    dependencies = [
        ("synth", "0005_memory_vector"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="memory", name="synth_memory_name_once"),
        migrations.RunSQL(PLAIN, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                condition=models.Q(("name", ""), _negated=True), fields=("agent", "about", "name"),
                name="synth_memory_name_once", nulls_distinct=False,
            ),
        ),
    ]
